// The concepts of the axes. For each axis an archetype: a policy with just the members that the concept asks for, of which
// one can be left out. A pool accepts it whole and refuses it for each member that lacks; and a pool of nothing but
// archetypes works, so the concepts ask for everything that the pool uses.
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <set>
#include <utility>

#include "tarn/allocator/pool.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"

namespace tarn {

/// Whether a pool takes it: it says that it is a policy, and has what the pool uses.
template <class... Nine>
using traits_with = detail::pool_traits<void, Nine...>;
template <class P>
constexpr bool pool_takes() {
  if constexpr (!detail::arguments_hold<P> || !policy<P>) {
    return false;
  } else if constexpr (size_policy<P> || growth_policy<P> || retention_policy<P> || name_policy<P>) {
    return true;
  } else if constexpr (locking_policy<P> || store_policy<P> || reuse_policy<P> || exhaustion_policy<P> || checking_policy<P> ||
                       statistics_policy<P>) {
    using traits = typename detail::selected<traits_with, static_size<64>, P>::type;
    if constexpr (!detail::columns_hold<traits>) return false;
    else return detail::members_hold<traits>;
  } else {
    return false;
  }
}

}  // namespace tarn

namespace {

using tarn::detail::chunk_request;
using tarn::detail::free_link;
using tarn::detail::memory;
using tarn::detail::pending_report;
using tarn::detail::status;
constexpr int none = -1;

// The traits of an archetype, which may lack.
#define TRAITS(axis, ...)                                                 \
  template <bool Here>                                                    \
  struct axis##_says {                                                    \
    static constexpr tarn::axis##_traits traits{__VA_ARGS__};             \
  };                                                                      \
  template <>                                                             \
  struct axis##_says<false> {};

TRAITS(size)
TRAITS(locking, .needs_identity = true, .keeps_memory = true)
TRAITS(growth)
TRAITS(store)
TRAITS(reuse, .min_block = sizeof(free_link), .min_alignment = alignof(free_link))
TRAITS(retention)
TRAITS(exhaustion)
TRAITS(checking, .refuses = true, .prefix = 3, .suffix = 5)
TRAITS(statistics, .counts = true)
TRAITS(name, .is_listed = true)

#undef TRAITS

struct column {
  template <class Geometry>
  static constexpr std::size_t column_bytes(std::size_t blocks, const Geometry&) noexcept {
    return blocks;
  }
  template <class Geometry>
  void open(std::byte*, std::size_t, const Geometry&) noexcept {}
};
template <class Axis>
struct column_of : column {};
template <class Axis, bool Here>
struct with_per_chunk {
  template <class Traits>
  using per_chunk = column_of<Axis>;
};
template <class Axis>
struct with_per_chunk<Axis, false> {};

template <int Lacking>
struct size_archetype : size_says<Lacking != 0> {
  using axis = tarn::axis::size;
  static constexpr std::size_t bytes() noexcept
    requires(Lacking != 1)
  {
    return 40;
  }
  static constexpr std::size_t alignment() noexcept
    requires(Lacking != 2)
  {
    return 8;
  }
};

template <int Lacking>
struct growth_archetype : growth_says<Lacking != 0> {
  using axis = tarn::axis::growth;
  chunk_request next_chunk(std::size_t, std::size_t, std::size_t) const noexcept
    requires(Lacking != 1)
  {
    return {10, 10};
  }
};

template <int Lacking>
struct store_archetype : store_says<Lacking != 0> {
  using axis = tarn::axis::store;
  template <class Traits>
  struct source {
    explicit source(const store_archetype&) noexcept
      requires(Lacking != 1)
    {}
    memory acquire(std::size_t bytes, std::size_t alignment) noexcept
      requires(Lacking != 2)
    {
      bytes = (bytes + alignment - 1) / alignment * alignment;
      return {std::aligned_alloc(alignment, bytes), bytes};
    }
    void release(memory region, std::size_t) noexcept
      requires(Lacking != 3)
    {
      std::free(region.start);
    }
  };
};

template <int Lacking>
struct retention_archetype : retention_says<Lacking != 0> {
  using axis = tarn::axis::retention;
  struct state {
    explicit state(const retention_archetype&) noexcept
      requires(Lacking != 1)
    {}
    status emptied() noexcept
      requires(Lacking != 2)
    {
      return status::done;
    }
    void reused() noexcept
      requires(Lacking != 3)
    {}
    std::size_t keep() const noexcept
      requires(Lacking != 4)
    {
      return 0;
    }
  };
};

template <int Lacking>
struct exhaustion_archetype : exhaustion_says<Lacking != 0> {
  using axis = tarn::axis::exhaustion;
  template <class Traits>
  struct state {
    explicit state(const exhaustion_archetype&) noexcept
      requires(Lacking != 1)
    {}
    bool retry(std::size_t) noexcept
      requires(Lacking != 2)
    {
      return false;
    }
    chunk_request next_chunk(std::size_t, std::size_t, std::size_t) noexcept
      requires(Lacking != 3)
    {
      return {};
    }
    memory acquire(std::size_t, std::size_t) noexcept
      requires(Lacking != 4)
    {
      return {};
    }
    void release(memory, std::size_t) noexcept
      requires(Lacking != 5)
    {}
  };
};

/// What the checking archetype was called for, in all pools.
struct {
  int handed_out = 0;
  int taken_back = 0;
  const void* reported = nullptr;
} checked;
int no_block = 0;

template <int Lacking>
struct checking_archetype : checking_says<Lacking != 0>, with_per_chunk<tarn::axis::checking, Lacking != 1> {
  using axis = tarn::axis::checking;
  template <class Traits>
  struct state {
    explicit state(const checking_archetype&) noexcept
      requires(Lacking != 2)
    {}
    status on_allocate(typename Traits::chunks&, void*) noexcept
      requires(Lacking != 3)
    {
      ++checked.handed_out;
      return status::done;
    }
    status on_deallocate(typename Traits::chunks&, void* block) noexcept
      requires(Lacking != 4)
    {
      if (block == &no_block) return status::refused;
      ++checked.taken_back;
      return status::done;
    }
    void describe_allocate(typename Traits::chunks&, void*, pending_report&) noexcept
      requires(Lacking != 5)
    {}
    void describe_deallocate(typename Traits::chunks&, void* block, pending_report& one) noexcept
      requires(Lacking != 6)
    {
      one.note(tarn::misuse_kind::foreign_pointer, block);
    }
    void report(tarn::misuse& what) noexcept
      requires(Lacking != 7)
    {
      checked.reported = what.address;
    }
  };
};

template <int Lacking>
struct statistics_archetype : statistics_says<Lacking != 0> {
  using axis = tarn::axis::statistics;
  template <class Traits>
  struct state {
    explicit state(const statistics_archetype&) noexcept
      requires(Lacking != 1)
    {}
    void on_allocate(std::size_t n) noexcept
      requires(Lacking != 2)
    {
      live += n;
    }
    void on_deallocate(std::size_t n) noexcept
      requires(Lacking != 3)
    {
      live -= n;
    }
    void on_chunk(std::size_t) noexcept
      requires(Lacking != 4)
    {}
    void off_chunk(std::size_t) noexcept
      requires(Lacking != 5)
    {}
    std::size_t read() const noexcept { return live; }
    std::size_t live = 0;
  };
};

template <int Lacking>
struct name_archetype : name_says<Lacking != 0> {
  using axis = tarn::axis::name;
  tarn::pool_listing listing() const noexcept
    requires(Lacking != 1)
  {
    return {"archetypal", {}};
  }
};

template <int Lacking>
struct reuse_archetype : reuse_says<Lacking != 0>, with_per_chunk<tarn::axis::reuse, Lacking != 1> {
  using axis = tarn::axis::reuse;
  template <class Traits>
  struct list {
    using core = typename Traits::chunks;
    using words = tarn::detail::free_words<core>;
    void* head = nullptr;

    void* pop(core& c) noexcept
      requires(Lacking != 2)
    {
      void* const block = head;
      if (block != nullptr) head = words(c).read(block, 0);
      return block;
    }
    void* pop_slow(core& c) noexcept
      requires(Lacking != 3)
    {
      void* block = nullptr;
      c.carve(&block, 1);
      return block;
    }
    status push(core& c, void* block) noexcept
      requires(Lacking != 4)
    {
      words(c).write(block, 0, head);
      head = block;
      return status::done;
    }
    status make_room(core&) noexcept
      requires(Lacking != 5)
    {
      return status::done;
    }
    std::size_t pop_batch(core& c, void** out, std::size_t n) noexcept
      requires(Lacking != 6)
    {
      return c.carve(out, n);
    }
    status push_batch(core& c, void* const* in, std::size_t n) noexcept
      requires(Lacking != 7)
    {
      for (; n != 0; head = in[--n]) words(c).write(in[n - 1], 0, head);
      return status::done;
    }
    template <class Take>
    void drain(core& c, Take take) noexcept
      requires(Lacking != 8)
    {
      for (void* block = std::exchange(head, nullptr); block != nullptr;) take(std::exchange(block, words(c).read(block, 0)));
    }
    void adopted(typename Traits::chunk&) noexcept
      requires(Lacking != 9)
    {}
    void restore(core& c, void* block) noexcept
      requires(Lacking != 10)
    {
      words(c).write(block, 0, head);
      head = block;
    }
    void forget() noexcept
      requires(Lacking != 11)
    {
      head = nullptr;
    }
  };
};

template <int Lacking>
struct locking_archetype : locking_says<Lacking != 0>, with_per_chunk<tarn::axis::locking, Lacking != 1> {
  using axis = tarn::axis::locking;
  template <class T>
  using cell = T;

  template <class Traits>
  struct state {
    struct guard_type {
      ~guard_type() {}
    };

    guard_type hit_guard() const noexcept
      requires(Lacking != 2)
    {
      return {};
    }
    guard_type core_guard() const noexcept
      requires(Lacking != 3)
    {
      return {};
    }
    guard_type growth_guard() const noexcept
      requires(Lacking != 4)
    {
      return {};
    }
    template <class Pool>
    void* pop(Pool& pool) noexcept
      requires(Lacking != 5)
    {
      return pool.list.pop(pool.chunks);
    }
    template <class Pool>
    void* pop_slow(Pool& pool) noexcept
      requires(Lacking != 6)
    {
      return pool.list.pop_slow(pool.chunks);
    }
    template <class Pool>
    status push(Pool& pool, void* block) noexcept
      requires(Lacking != 7)
    {
      return pool.list.push(pool.chunks, block);
    }
    template <class Pool>
    status push_slow(Pool& pool, void* block) noexcept
      requires(Lacking != 8)
    {
      return pool.list.push(pool.chunks, block);
    }
    template <class Pool>
    status make_room(Pool& pool) noexcept
      requires(Lacking != 9)
    {
      return pool.list.make_room(pool.chunks);
    }
    template <class Pool>
    std::size_t pop_batch(Pool& pool, void** out, std::size_t n) noexcept
      requires(Lacking != 10)
    {
      return pool.list.pop_batch(pool.chunks, out, n);
    }
    template <class Pool>
    status push_batch(Pool& pool, void* const* in, std::size_t n) noexcept
      requires(Lacking != 11)
    {
      return pool.list.push_batch(pool.chunks, in, n);
    }
    template <class Pool>
    void drain(Pool&) noexcept
      requires(Lacking != 12)
    {}
    template <class Pool>
    void drain_all(Pool&) noexcept
      requires(Lacking != 15)
    {}
    void drop_all() noexcept
      requires(Lacking != 16)
    {}
    void end() noexcept
      requires(Lacking != 17)
    {}
    template <class Pool, class Chunk>
    std::size_t shortage(Pool&, const Chunk*) noexcept
      requires(Lacking != 18)
    {
      return lacks;
    }
    template <class Pool>
    void supply(Pool&, memory) noexcept
      requires(Lacking != 19)
    {
      lacks = 0;
    }
    bool starves() noexcept
      requires(Lacking != 20)
    {
      return lacks != 0;
    }
    template <class Pool, class Chunk>
    void adopt(Pool& pool, Chunk& fresh) noexcept
      requires(Lacking != 13)
    {
      pool.chunks.adopt(fresh, pool.list);
    }
    void expect(std::size_t) noexcept
      requires(Lacking != 14)
    {}
    std::size_t lacks = 100;
  };
};

/// Refused for each of its members that lacks.
template <class Refused, int... Members>
void check(Refused refused, std::integer_sequence<int, Members...>) {
  const bool all[] = {refused.template operator()<Members>()...};
  for (std::size_t i = 0; i < sizeof...(Members); ++i) BOOST_TEST(all[i], "accepted without member " << i);
}

BOOST_AUTO_TEST_SUITE(archetypes)

#define AXIS(name, members)                                                                                     \
  BOOST_AUTO_TEST_CASE(of_##name##_is_refused_for_each_member_that_lacks) {                                     \
    static_assert(tarn::pool_takes<name##_archetype<none>>());                                                  \
    check([]<int M>() { return !tarn::pool_takes<name##_archetype<M>>(); }, std::make_integer_sequence<int, members>{}); \
  }

AXIS(size, 3)
AXIS(locking, 21)
AXIS(growth, 2)
AXIS(store, 4)
AXIS(reuse, 12)
AXIS(retention, 5)
AXIS(exhaustion, 6)
AXIS(checking, 8)
AXIS(statistics, 6)
AXIS(name, 2)

#undef AXIS

using archetypal =
    tarn::pool<size_archetype<none>, locking_archetype<none>, growth_archetype<none>, store_archetype<none>,
               reuse_archetype<none>, retention_archetype<none>, exhaustion_archetype<none>, checking_archetype<none>,
               statistics_archetype<none>>;

BOOST_AUTO_TEST_CASE(make_a_pool_that_works) {
  archetypal pool;
  std::set<void*> blocks;
  for (int i = 0; i < 95; ++i) {
    void* const block = pool.allocate();
    BOOST_TEST(reinterpret_cast<std::size_t>(block) % 8 == 0);
    BOOST_TEST(pool.owns(block));
    BOOST_TEST(blocks.insert(block).second);
  }
  void* batch[25];
  BOOST_TEST(pool.allocate_batch(batch) == 25);
  for (void* const block : batch) BOOST_TEST(blocks.insert(block).second);
  BOOST_TEST(pool.capacity() == 120);
  BOOST_TEST(pool.statistics() == 120);
  pool.deallocate_batch(batch);
  for (void* const block : batch) blocks.erase(block);
  BOOST_TEST(checked.handed_out == 120);
  BOOST_TEST(checked.taken_back == 25);
  for (void* const block : blocks) pool.deallocate(block);
  BOOST_TEST(checked.taken_back == 120);
  BOOST_TEST(checked.reported == nullptr);
  pool.deallocate(&no_block);
  BOOST_TEST(checked.taken_back == 120);
  BOOST_TEST(checked.reported == &no_block);
  BOOST_TEST(pool.statistics() == 0);
  BOOST_TEST(pool.trim() != 0);
  BOOST_TEST(pool.capacity() == 0);
  pool.reserve(15);
  BOOST_TEST(pool.capacity() == 20);
  pool.release();
  BOOST_TEST(pool.try_allocate() != nullptr);
}

// Near misses of other kinds than a member that lacks, where test/compile_fail (P, traits) has none like it.
struct wrong_axis : tarn::heap_store {
  using axis = tarn::axis::growth;
};
struct mutable_growth : tarn::fixed_growth<32> {
  chunk_request next_chunk(std::size_t, std::size_t, std::size_t) noexcept { return {32, 32}; }
};
struct growth_with_value : tarn::fixed_growth<32> {
  explicit growth_with_value(int) {}
};
struct wrong_result : tarn::heap_store {
  template <class Traits>
  struct source : tarn::heap_store::source<Traits> {
    using tarn::heap_store::source<Traits>::source;
    void* acquire(std::size_t, std::size_t) noexcept { return nullptr; }
  };
};
struct size_of_int : tarn::static_size<64> {
  static constexpr int bytes() noexcept { return 64; }
};
struct promised_end : tarn::heap_store {  // it says that it has one
  static constexpr tarn::store_traits traits{.has_end = true};
};
struct impatient : tarn::mutex_locking<> {
  static constexpr tarn::locking_traits traits{.can_wait = true};
};

static_assert(!tarn::store_policy<wrong_axis> && !tarn::growth_policy<wrong_axis>);
static_assert(!tarn::growth_policy<mutable_growth> && !tarn::growth_policy<growth_with_value>);
static_assert(!tarn::pool_takes<wrong_result>() && !tarn::size_policy<size_of_int>);
static_assert(!tarn::pool_takes<promised_end>() && !tarn::pool_takes<impatient>());
static_assert(!tarn::store_policy<tarn::no_locking> && !tarn::locking_policy<tarn::heap_store>);
static_assert(!tarn::locking_policy<int> && !tarn::size_policy<void> && !tarn::reuse_policy<std::mutex>);

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

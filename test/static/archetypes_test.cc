// The concepts of the axes. For each axis an archetype: a policy with just the members that the concept asks for. A pool takes
// it whole and refuses it where a member lacks; and a pool of nothing but archetypes works, so the concepts ask for everything
// that the pool uses.
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

using tarn::pool_takes;
using tarn::detail::chunk_request;
using tarn::detail::free_link;
using tarn::detail::memory;
using tarn::detail::pending_report;
using tarn::detail::status;

// ---- one of each, with all members ------------------------------------------------------------------------------------------

template <class Axis>
struct column_of {
  template <class Geometry>
  static constexpr std::size_t column_bytes(std::size_t blocks, const Geometry&) noexcept {
    return blocks;
  }
  template <class Geometry>
  void open(std::byte*, std::size_t, const Geometry&) noexcept {}
};

struct size_archetype {
  using axis = tarn::axis::size;
  static constexpr tarn::size_traits traits{};
  static constexpr std::size_t bytes() noexcept { return 40; }
  static constexpr std::size_t alignment() noexcept { return 8; }
};

struct growth_archetype {
  using axis = tarn::axis::growth;
  static constexpr tarn::growth_traits traits{};
  chunk_request next_chunk(std::size_t, std::size_t, std::size_t) const noexcept { return {10, 10}; }
};

struct store_archetype {
  using axis = tarn::axis::store;
  static constexpr tarn::store_traits traits{};
  template <class Traits>
  struct source {
    explicit source(const store_archetype&) noexcept {}
    memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      bytes = (bytes + alignment - 1) / alignment * alignment;
      return {std::aligned_alloc(alignment, bytes), bytes};
    }
    void release(memory region, std::size_t) noexcept { std::free(region.start); }
  };
};

struct retention_archetype {
  using axis = tarn::axis::retention;
  static constexpr tarn::retention_traits traits{};
  struct state {
    explicit state(const retention_archetype&) noexcept {}
    status emptied() noexcept { return status::done; }
    void reused() noexcept {}
    std::size_t keep() const noexcept { return 0; }
  };
};

struct exhaustion_archetype {
  using axis = tarn::axis::exhaustion;
  static constexpr tarn::exhaustion_traits traits{};
  template <class Traits>
  struct state {
    explicit state(const exhaustion_archetype&) noexcept {}
    bool retry(std::size_t) noexcept { return false; }
    chunk_request next_chunk(std::size_t, std::size_t, std::size_t) noexcept { return {}; }
    memory acquire(std::size_t, std::size_t) noexcept { return {}; }
    void release(memory, std::size_t) noexcept {}
  };
};

/// What the checking archetype was called for, in all pools.
struct {
  int handed_out = 0;
  int taken_back = 0;
  const void* reported = nullptr;
} checked;
int no_block = 0;

struct checking_archetype {
  using axis = tarn::axis::checking;
  static constexpr tarn::checking_traits traits{.refuses = true, .prefix = 3, .suffix = 5};
  template <class Traits>
  using per_chunk = column_of<axis>;
  template <class Traits>
  struct state {
    using core = typename Traits::chunks;
    explicit state(const checking_archetype&) noexcept {}
    status on_allocate(core&, void*) noexcept {
      ++checked.handed_out;
      return status::done;
    }
    status on_deallocate(core&, void* block) noexcept {
      if (block == &no_block) return status::refused;
      ++checked.taken_back;
      return status::done;
    }
    void describe_allocate(core&, void*, pending_report&) noexcept {}
    void describe_deallocate(core&, void* block, pending_report& one) noexcept {
      one.note(tarn::misuse_kind::foreign_pointer, block);
    }
    void report(tarn::misuse& what) noexcept { checked.reported = what.address; }
  };
};

struct statistics_archetype {
  using axis = tarn::axis::statistics;
  static constexpr tarn::statistics_traits traits{.counts = true};
  template <class Traits>
  struct state {
    explicit state(const statistics_archetype&) noexcept {}
    void on_allocate(std::size_t n) noexcept { live += n; }
    void on_deallocate(std::size_t n) noexcept { live -= n; }
    void on_chunk(std::size_t) noexcept {}
    void off_chunk(std::size_t) noexcept {}
    std::size_t read() const noexcept { return live; }
    std::size_t live = 0;
  };
};

struct name_archetype {
  using axis = tarn::axis::name;
  static constexpr tarn::name_traits traits{.is_listed = true};
  tarn::pool_listing listing() const noexcept { return {"archetypal", {}}; }
};

struct reuse_archetype {
  using axis = tarn::axis::reuse;
  static constexpr tarn::reuse_traits traits{.min_block = sizeof(free_link), .min_alignment = alignof(free_link)};
  template <class Traits>
  using per_chunk = column_of<axis>;
  template <class Traits>
  struct list {
    using core = typename Traits::chunks;
    using words = tarn::detail::free_words<core>;
    void* head = nullptr;

    void* pop(core& c) noexcept {
      void* const block = head;
      if (block != nullptr) head = words(c).read(block, 0);
      return block;
    }
    void* pop_slow(core& c) noexcept {
      void* block = nullptr;
      c.carve(&block, 1);
      return block;
    }
    status push(core& c, void* block) noexcept {
      words(c).write(block, 0, head);
      head = block;
      return status::done;
    }
    status make_room(core&) noexcept { return status::done; }
    std::size_t pop_batch(core& c, void** out, std::size_t n) noexcept { return c.carve(out, n); }
    status push_batch(core& c, void* const* in, std::size_t n) noexcept {
      for (; n != 0; head = in[--n]) words(c).write(in[n - 1], 0, head);
      return status::done;
    }
    template <class Take>
    void drain(core& c, Take take) noexcept {
      for (void* block = std::exchange(head, nullptr); block != nullptr;) take(std::exchange(block, words(c).read(block, 0)));
    }
    void adopted(typename Traits::chunk&) noexcept {}
    void restore(core& c, void* block) noexcept { push(c, block); }
    void forget() noexcept { head = nullptr; }
  };
};

struct locking_archetype {
  using axis = tarn::axis::locking;
  static constexpr tarn::locking_traits traits{.needs_identity = true, .keeps_memory = true};
  template <class T>
  using cell = T;
  template <class Traits>
  using per_chunk = column_of<axis>;

  template <class Traits>
  struct state {
    struct guard_type {
      ~guard_type() {}
    };
    guard_type hit_guard() const noexcept { return {}; }
    guard_type core_guard() const noexcept { return {}; }
    guard_type growth_guard() const noexcept { return {}; }
    void* pop(auto& pool) noexcept { return pool.list.pop(pool.chunks); }
    void* pop_slow(auto& pool) noexcept { return pool.list.pop_slow(pool.chunks); }
    status push(auto& pool, void* block) noexcept { return pool.list.push(pool.chunks, block); }
    status push_slow(auto& pool, void* block) noexcept { return pool.list.push(pool.chunks, block); }
    status make_room(auto& pool) noexcept { return pool.list.make_room(pool.chunks); }
    std::size_t pop_batch(auto& pool, void** out, std::size_t n) noexcept { return pool.list.pop_batch(pool.chunks, out, n); }
    status push_batch(auto& pool, void* const* in, std::size_t n) noexcept { return pool.list.push_batch(pool.chunks, in, n); }
    void drain(auto&) noexcept {}
    void drain_all(auto&) noexcept {}
    void drop_all() noexcept {}
    void end() noexcept {}
    std::size_t shortage(auto&, const auto*) noexcept { return lacks; }
    void supply(auto&, memory) noexcept { lacks = 0; }
    bool starves() noexcept { return lacks != 0; }
    void adopt(auto& pool, auto& fresh) noexcept { pool.chunks.adopt(fresh, pool.list); }
    void expect(std::size_t) noexcept {}
    std::size_t lacks = 100;
  };
};

// ---- and with a member that lacks: its name is that of a deleted function ---------------------------------------------------

// Of the policy itself.
#define LACKS(axis, member)                                 \
  struct axis##_without_##member : axis##_archetype {       \
    void member() = delete;                                 \
  };                                                        \
  static_assert(!pool_takes<axis##_without_##member>())
// Of the part of it that a pool has.
#define PART_LACKS(axis, part, member)                             \
  struct axis##_without_##member : axis##_archetype {              \
    template <class Traits>                                        \
    struct part : axis##_archetype::template part<Traits> {        \
      using its_base = axis##_archetype::template part<Traits>;    \
      using its_base::its_base;                                    \
      void member() = delete;                                      \
    };                                                             \
  };                                                               \
  static_assert(!pool_takes<axis##_without_##member>())
#define PART_LACKS_CONSTRUCTOR(axis, part)                           \
  struct axis##_without_constructor : axis##_archetype {             \
    template <class Traits>                                          \
    struct part : axis##_archetype::template part<Traits> {};        \
  };                                                                 \
  static_assert(!pool_takes<axis##_without_constructor>())

static_assert(pool_takes<size_archetype>());
LACKS(size, traits);
LACKS(size, bytes);
LACKS(size, alignment);

static_assert(pool_takes<growth_archetype>());
LACKS(growth, traits);
LACKS(growth, next_chunk);

static_assert(pool_takes<store_archetype>());
LACKS(store, traits);
LACKS(store, source);
PART_LACKS_CONSTRUCTOR(store, source);
PART_LACKS(store, source, acquire);
PART_LACKS(store, source, release);

static_assert(pool_takes<retention_archetype>());
LACKS(retention, traits);
struct retention_without_constructor : retention_archetype {
  struct state : retention_archetype::state {};
};
static_assert(!pool_takes<retention_without_constructor>());
#define STATE_LACKS(member)                                                  \
  struct retention_without_##member : retention_archetype {                  \
    struct state : retention_archetype::state {                              \
      using retention_archetype::state::state;                               \
      void member() = delete;                                                \
    };                                                                       \
  };                                                                         \
  static_assert(!pool_takes<retention_without_##member>())
STATE_LACKS(emptied);
STATE_LACKS(reused);
STATE_LACKS(keep);

static_assert(pool_takes<exhaustion_archetype>());
LACKS(exhaustion, traits);
LACKS(exhaustion, state);
PART_LACKS_CONSTRUCTOR(exhaustion, state);
PART_LACKS(exhaustion, state, retry);
PART_LACKS(exhaustion, state, next_chunk);
PART_LACKS(exhaustion, state, acquire);
PART_LACKS(exhaustion, state, release);

static_assert(pool_takes<checking_archetype>());
LACKS(checking, traits);
LACKS(checking, per_chunk);
LACKS(checking, state);
PART_LACKS_CONSTRUCTOR(checking, state);
PART_LACKS(checking, state, on_allocate);
PART_LACKS(checking, state, on_deallocate);
PART_LACKS(checking, state, describe_allocate);
PART_LACKS(checking, state, describe_deallocate);
PART_LACKS(checking, state, report);

static_assert(pool_takes<statistics_archetype>());
LACKS(statistics, traits);
LACKS(statistics, state);
PART_LACKS_CONSTRUCTOR(statistics, state);
PART_LACKS(statistics, state, on_allocate);
PART_LACKS(statistics, state, on_deallocate);
PART_LACKS(statistics, state, on_chunk);
PART_LACKS(statistics, state, off_chunk);

static_assert(pool_takes<name_archetype>());
LACKS(name, traits);
LACKS(name, listing);

static_assert(pool_takes<reuse_archetype>());
LACKS(reuse, traits);
LACKS(reuse, per_chunk);
LACKS(reuse, list);
PART_LACKS(reuse, list, pop);
PART_LACKS(reuse, list, pop_slow);
PART_LACKS(reuse, list, push);
PART_LACKS(reuse, list, make_room);
PART_LACKS(reuse, list, pop_batch);
PART_LACKS(reuse, list, push_batch);
PART_LACKS(reuse, list, drain);
PART_LACKS(reuse, list, adopted);
PART_LACKS(reuse, list, restore);
PART_LACKS(reuse, list, forget);

static_assert(pool_takes<locking_archetype>());
LACKS(locking, traits);
LACKS(locking, per_chunk);
LACKS(locking, state);
PART_LACKS(locking, state, hit_guard);
PART_LACKS(locking, state, core_guard);
PART_LACKS(locking, state, growth_guard);
PART_LACKS(locking, state, pop);
PART_LACKS(locking, state, pop_slow);
PART_LACKS(locking, state, push);
PART_LACKS(locking, state, push_slow);
PART_LACKS(locking, state, make_room);
PART_LACKS(locking, state, pop_batch);
PART_LACKS(locking, state, push_batch);
PART_LACKS(locking, state, drain);
PART_LACKS(locking, state, drain_all);
PART_LACKS(locking, state, drop_all);
PART_LACKS(locking, state, end);
PART_LACKS(locking, state, shortage);
PART_LACKS(locking, state, supply);
PART_LACKS(locking, state, starves);
PART_LACKS(locking, state, adopt);
PART_LACKS(locking, state, expect);

#undef LACKS
#undef STATE_LACKS
#undef PART_LACKS
#undef PART_LACKS_CONSTRUCTOR

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
struct bottomless : tarn::heap_store {  // it has an end, and can't say how much it still gives
  using implies = tarn::no_growth<>;
  static constexpr tarn::store_traits traits{.bounded = true};
};
template <bool Says>
struct hollow : bottomless {  // its one region would lie in the pool
  using implies = tarn::no_growth<8>;
  static constexpr tarn::store_traits traits{.bounded = true, .in_place = Says};
  template <class Traits>
  struct source : tarn::heap_store::source<Traits> {
    using tarn::heap_store::source<Traits>::source;
    std::size_t room(std::size_t) const noexcept { return 4096; }
  };
};
struct empty_column : tarn::lifo_reuse<> {
  template <class Traits>
  struct per_chunk {};
};
struct half_column : tarn::lifo_reuse<> {  // nobody opens it
  template <class Traits>
  struct per_chunk {
    template <class Geometry>
    static constexpr std::size_t column_bytes(std::size_t blocks, const Geometry&) noexcept {
      return blocks;
    }
  };
};
struct impatient : tarn::mutex_locking<> {
  static constexpr tarn::locking_traits traits{.can_wait = true};
};

static_assert(!tarn::store_policy<wrong_axis> && !tarn::growth_policy<wrong_axis>);
static_assert(!tarn::growth_policy<mutable_growth> && !tarn::growth_policy<growth_with_value>);
static_assert(!tarn::pool_takes<wrong_result>() && !tarn::size_policy<size_of_int>);
static_assert(!tarn::pool_takes<promised_end>() && !tarn::pool_takes<impatient>());
static_assert(!tarn::pool_takes<bottomless>() && !tarn::pool_takes<hollow<true>>() && tarn::pool_takes<hollow<false>>());
static_assert(!tarn::pool_takes<empty_column>() && !tarn::pool_takes<half_column>());
static_assert(!tarn::store_policy<tarn::no_locking> && !tarn::locking_policy<tarn::heap_store>);
static_assert(!tarn::locking_policy<int> && !tarn::size_policy<void> && !tarn::reuse_policy<std::mutex>);

// ---- parameters, at the edge of what they may be ----------------------------------------------------------------------------

template <class... P>
constexpr bool hold = (tarn::detail::arguments_hold<P> && ...);
template <class... P>
constexpr bool none_holds = !(tarn::detail::arguments_hold<P> || ...);

static_assert(hold<tarn::size_of<int*>, tarn::size_of<int[16]>, tarn::size_of<void*>, tarn::size_of<int (*)(double)>>);
static_assert(none_holds<tarn::size_of<int&>, tarn::size_of<int[]>, tarn::size_of<void>, tarn::size_of<int(double)>>);
static_assert(hold<tarn::geometric_classes<32, 64>, tarn::geometric_classes<16, 64>, tarn::geometric_classes<16, 16>>);
static_assert(none_holds<tarn::geometric_classes<64, 32>, tarn::geometric_classes<8, 64>, tarn::geometric_classes<24, 192>>);
static_assert(hold<tarn::listed_classes<24, 64>, tarn::listed_classes<1>>);
static_assert(none_holds<tarn::listed_classes<64, 24>, tarn::listed_classes<24, 24, 64>, tarn::listed_classes<0, 24>,
                         tarn::listed_classes<>>);
static_assert(hold<tarn::geometric_growth<8, 64, 2, 100>, tarn::geometric_growth<64, 64>, tarn::fixed_growth<1, 1>>);
static_assert(none_holds<tarn::geometric_growth<8, 64, 2, 0>, tarn::geometric_growth<8, 64, 1>, tarn::fixed_growth<0, 1>>);
static_assert(hold<tarn::grow_ahead<tarn::percent<99>>> && !hold<tarn::grow_ahead<tarn::percent<100>>>);
static_assert(!hold<tarn::grow_ahead<100, tarn::fixed_growth<0>>>);
static_assert(hold<tarn::batch_reuse<tarn::prefetch::none, 128>, tarn::batch_reuse<tarn::prefetch::none, 192>>);
static_assert(none_holds<tarn::batch_reuse<tarn::prefetch::none, 64>, tarn::batch_reuse<tarn::prefetch::none, 200>>);
static_assert(hold<tarn::page_local_reuse<4096>, tarn::page_local_reuse<65536, tarn::prefetch::none, 192>>);
static_assert(none_holds<tarn::page_local_reuse<2048>, tarn::page_local_reuse<6000>,
                         tarn::page_local_reuse<65536, tarn::prefetch::none, 100>>);
static_assert(hold<tarn::thread_cached<64>, tarn::thread_cached<16, 62>>);
static_assert(none_holds<tarn::thread_cached<20>, tarn::thread_cached<16, 500>>);
static_assert(hold<tarn::named<"a">, tarn::named<"0123456789 123456789 123456789 123456789 123456789 123456789 12">>);
static_assert(none_holds<tarn::named<"">, tarn::named<"0123456789 123456789 123456789 123456789 123456789 123456789 123">>);
static_assert(hold<tarn::return_empty_chunks<4, 4>> && !hold<tarn::return_empty_chunks<4, 1>>);

[[maybe_unused]] void one(const tarn::misuse&) noexcept {}
[[maybe_unused]] void other(const tarn::misuse&) noexcept {}
static_assert(hold<tarn::hardened_with<tarn::reported_to<one>, tarn::shuffled>>);
static_assert(!hold<tarn::hardened_with<tarn::reported_to<one>, tarn::reported_to<other>>>);
static_assert(none_holds<tarn::sampled_guard_pages<0>, tarn::sampled_guard_pages<5000, tarn::sampled_guard_pages<>>>);

struct named_mutex {  // nobody could make one
  explicit named_mutex(const char*) {}
  void lock() {}
  void unlock() {}
};
struct throwing_mask {
  static int save_and_mask() noexcept { return 0; }
  static void restore(int) {}
};
static_assert(none_holds<tarn::mutex_locking<named_mutex>, tarn::interrupt_locking<throwing_mask>>);

// ---- a pool of them ---------------------------------------------------------------------------------------------------------

using archetypal =
    tarn::pool<size_archetype, locking_archetype, growth_archetype, store_archetype, reuse_archetype, retention_archetype,
               exhaustion_archetype, checking_archetype, statistics_archetype>;

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

}  // namespace

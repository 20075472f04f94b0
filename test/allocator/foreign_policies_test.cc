// Policies written outside the library, as a user would write them: the pool carries them without a change. Simpler ones, for
// each axis: test/static/archetypes_test.cc.
// They also show the order of events: which hook runs when, and what is held then.
#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/model.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

// ---- statistics, and a checking policy that knows every live block -------------------------------------------------------

struct counting {
  using axis = tarn::axis::statistics;
  static constexpr tarn::statistics_traits traits{.counts = true};
  template <class Traits>
  struct state {
    struct figures {
      std::size_t live, chunks, bytes;
    };
    explicit state(const counting&) noexcept {}
    void on_allocate(std::size_t n) noexcept { live += n; }
    void on_deallocate(std::size_t n) noexcept { live -= n; }
    void on_chunk(std::size_t b) noexcept { chunks += 1; bytes += b; }
    void off_chunk(std::size_t b) noexcept { chunks -= 1; bytes -= b; }
    figures read() const noexcept { return {live, chunks, bytes}; }
    typename Traits::template cell<std::size_t> live{}, chunks{}, bytes{};
  };
};

std::vector<misuse_kind> reports;

struct suspicious {
  using axis = tarn::axis::checking;
  static constexpr tarn::checking_traits traits{.refuses = true, .finds_chunks = true, .prefix = 20, .suffix = 5};

  // A column of a byte for each block.
  template <class Traits>
  struct per_chunk {
    template <class Geometry>
    static constexpr std::size_t column_bytes(std::size_t blocks, const Geometry&) noexcept { return blocks; }
    template <class Geometry>
    void open(std::byte* at, std::size_t blocks, const Geometry&) noexcept { column = std::span(at, blocks); }
    std::span<std::byte> column;
  };
  template <class Traits>
  struct state {
    explicit state(const suspicious&) noexcept {}
    template <class Core>
    detail::status on_allocate(Core& core, void* block) noexcept {
      if (core.find(block) == nullptr) std::abort();
      live.insert(block);
      return detail::status::done;
    }
    template <class Core>
    void describe_allocate(Core&, void*, detail::pending_report&) noexcept {}
    template <class Core>
    detail::status on_deallocate(Core& core, void* block) noexcept {
      return core.find(block) != nullptr && live.erase(block) == 1 ? detail::status::done : detail::status::refused;
    }
    template <class Core>
    void describe_deallocate(Core& core, void* block, detail::pending_report& one) noexcept {
      if (core.find(block) == nullptr) one.note(misuse_kind::foreign_pointer, block);
      else if (!live.contains(block)) one.note(misuse_kind::double_free, block);
    }
    void report(const misuse& what) noexcept { reports.push_back(what.kind); }
    std::set<void*> live;
  };
};

BOOST_AUTO_TEST_CASE(statistics_and_checking) {
  upstream upstream;
  {
    pool<static_size<48>, suspicious, counting, resource_store, fixed_growth<32>> pool{resource_store{&upstream}};
    model model(pool);
    for (int i = 0; i < 100; ++i) REQUIRE(model.take());
    BOOST_TEST(model.take_batch(50) == 50u);
    BOOST_TEST(pool.statistics().live == 150u);
    BOOST_TEST(pool.statistics().chunks == 5u);
    // A table of the chunks, which the checking policy looks up.
    BOOST_TEST(pool.statistics().bytes + 1088 == upstream.bytes());

    void* const block = pool.allocate();
    pool.deallocate(block);
    pool.deallocate(block);  // refused and reported; nothing changes
    int local = 0;
    pool.deallocate(&local);
    void* two[] = {block, &local};
    pool.deallocate_batch(two);
    const std::vector expected{misuse_kind::double_free, misuse_kind::foreign_pointer,
                               misuse_kind::foreign_pointer, misuse_kind::double_free};  // a batch is taken from its end
    BOOST_TEST((reports == expected));
    BOOST_TEST(pool.statistics().live == 150u);

    model.give_batch(100);
    while (model.live() != 0) model.give(0);
    BOOST_TEST(pool.statistics().live == 0u);
    BOOST_TEST(pool.trim() != 0u);
    BOOST_TEST(pool.statistics().chunks == 0u);
    BOOST_TEST(pool.statistics().bytes == 0u);
  }
  BOOST_TEST(upstream.bytes() == 0u);
}

// ---- exhaustion: a handler that may use the pool, then a second store ----------------------------------------------------

struct second_chance_values {
  test::upstream* reserve_store;
  std::vector<void*>* hoard;
  void (*give_back)(void*);
};
struct second_chance : second_chance_values {
  using axis = tarn::axis::exhaustion;
  static constexpr tarn::exhaustion_traits traits{.extra_chunks = 2};

  template <class Traits>
  struct state {
    explicit state(const second_chance& p) noexcept : policy(p) {}
    bool retry(std::size_t bytes) noexcept {
      if (policy.hoard->empty() || bytes != 64) return false;
      policy.give_back(policy.hoard->back());  // into the very pool that is out of blocks: nothing is held
      policy.hoard->pop_back();
      return true;
    }
    detail::chunk_request next_chunk(std::size_t, std::size_t total, std::size_t) const noexcept {
      return total < 20 ? detail::chunk_request{10, 10} : detail::chunk_request{};
    }
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      return {policy.reserve_store->allocate(bytes, alignment), bytes};
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      policy.reserve_store->deallocate(region.start, region.bytes, alignment);
    }
    second_chance_values policy;
  };
};

using rescued = pool<static_size<64>, mutex_locking<>, second_chance, resource_store, fixed_growth<10, 10>>;
rescued* rescued_pool = nullptr;

BOOST_AUTO_TEST_CASE(an_exhaustion_policy_with_a_handler_and_a_second_store) {
  upstream first, second;
  {
    std::vector<void*> hoard;
    rescued pool{resource_store{&first},
                 second_chance{{&second, &hoard, [](void* block) { rescued_pool->deallocate(block); }}}};
    rescued_pool = &pool;
    for (int i = 0; i < 30; ++i) hoard.push_back(pool.allocate());
    BOOST_TEST(first.regions() == 1u);
    BOOST_TEST(second.regions() == 2u);
    for (int i = 0; i < 30; ++i) BOOST_TEST(pool.try_allocate() != nullptr);  // each from the handler, out of the hoard
    BOOST_TEST(hoard.empty());
    BOOST_TEST(pool.try_allocate() == nullptr);
  }
  BOOST_TEST(first.bytes() == 0u);
  BOOST_TEST(second.bytes() == 0u);
  BOOST_TEST(first.faults() + second.faults() == 0u);
}

// ---- exhaustion that hears of every block that was freed, and of nothing else --------------------------------------------

struct listener {
  using axis = tarn::axis::exhaustion;
  static constexpr tarn::exhaustion_traits traits{.hears_frees = true};
  static inline std::size_t heard = 0;

  template <class Traits>
  struct state : detail::no_second_store {
    explicit state(const listener&) noexcept {}
    bool retry(std::size_t) noexcept { return false; }
    void freed(std::size_t blocks) noexcept { heard += blocks; }
  };
};

template <class... Policies>
void listen(called_from = {}) {
  const auto heard = [] { return std::exchange(listener::heard, 0); };
  {
    pool<static_size<64>, mutex_locking<>, listener, Policies...> pool;
    std::array<void*, 4> blocks;
    pool.allocate_batch(blocks);
    pool.deallocate(nullptr);
    CHECK(heard() == 0u);
    pool.deallocate(blocks[0]);
    CHECK(heard() == 1u);
    blocks[0] = nullptr;
    pool.deallocate_batch(blocks);
    CHECK(heard() == 3u);
  }
  object_pool<long, mutex_locking<>, listener, Policies...> numbers;
  for (long i = 0; i != 5; ++i) static_cast<void>(numbers.construct(i));
  numbers.clear();
  CHECK(heard() == 5u);
  object_pool<std::string, mutex_locking<>, listener, Policies...> names;
  for (int i = 0; i != 5; ++i) static_cast<void>(names.construct("a name that is too long to lie in the string itself"));
  names.clear();
  CHECK(heard() == 5u);
}

BOOST_AUTO_TEST_CASE(an_exhaustion_policy_that_hears_of_every_free) {
  listen<>();
  listen<page_local_reuse<>>();
  listen<checked>();
}

// ---- reuse and retention: a list that counts what is out, and gives chunks back when nothing is -------------------------

struct tidy_retention {
  using axis = tarn::axis::retention;
  static constexpr tarn::retention_traits traits{.returns_chunks = true};
  struct state {
    explicit state(const tidy_retention&) noexcept {}
    detail::status emptied() noexcept { return detail::status::surplus; }
    void reused() noexcept {}
    std::size_t keep() const noexcept { return 0; }
  };
};

struct counted_reuse : lifo_reuse<> {
  static constexpr tarn::reuse_traits traits = [] {
    tarn::reuse_traits all = lifo_reuse<>::traits;
    all.sees_empty_chunks = true;
    return all;
  }();
  template <class Traits>
  class list : public lifo_reuse<>::list<Traits> {
    using base = lifo_reuse<>::list<Traits>;
    using core = typename Traits::chunks;
    using chunk = typename Traits::chunk;
    std::size_t out_ = 0;
    std::vector<chunk*> chunks_;

   public:
    void settle(core&) noexcept {}
    std::size_t empty_chunks() const noexcept { return out_ == 0 ? chunks_.size() : 0; }
    chunk& take_empty() noexcept {
      base::forget();  // all go
      chunk& last = *chunks_.back();
      chunks_.pop_back();
      return last;
    }
    void adopted(chunk& c) noexcept { chunks_.push_back(&c); }
    void forget() noexcept {
      base::forget();
      chunks_.clear();
      out_ = 0;
    }
    void* pop(core& c) noexcept { return counted(base::pop(c)); }
    void* pop_slow(core& c) noexcept { return counted(base::pop_slow(c)); }
    detail::status push(core& c, void* block) noexcept {
      base::push(c, block);
      return --out_ == 0 ? c.chunk_emptied() : detail::status::done;
    }
    std::size_t pop_batch(core& c, void** out, std::size_t n) noexcept {
      const std::size_t got = base::pop_batch(c, out, n);
      out_ += got;
      return got;
    }
    detail::status push_batch(core& c, void* const* in, std::size_t n) noexcept {
      base::push_batch(c, in, n);
      out_ -= n;
      return out_ == 0 ? c.chunk_emptied() : detail::status::done;
    }

   private:
    void* counted(void* block) noexcept {
      if (block != nullptr) ++out_;
      return block;
    }
  };
};

BOOST_AUTO_TEST_CASE(a_reuse_and_a_retention_that_return_chunks) {
  upstream upstream;
  pool<static_size<64>, resource_store, fixed_growth<16>, counted_reuse, tidy_retention> pool{resource_store{&upstream}};
  std::vector<void*> blocks(100);
  pool.allocate_batch(blocks);
  BOOST_TEST(upstream.regions() == 7u);
  for (void* const block : blocks) pool.deallocate(block);
  BOOST_TEST(upstream.regions() == 0u);  // keep() says so
  pool.allocate_batch(blocks);
  pool.deallocate_batch(blocks);
  BOOST_TEST(upstream.regions() == 0u);
}

// ---- locking: it keeps one block in front of the list, and can say "full" --------------------------------------

struct pocket_locking {
  using axis = tarn::axis::locking;
  static constexpr tarn::locking_traits traits{};
  template <class T>
  using cell = std::atomic<T>;
  template <class Traits>
  using per_chunk = detail::no_column<axis>;

  template <class Traits>
  class state : public detail::direct_calls<no_locking::guards> {
    using base = detail::direct_calls<no_locking::guards>;
    void* pocket_ = nullptr;

   public:
    template <class Pool>
    void* pop(Pool&) noexcept {
      return std::exchange(pocket_, nullptr);
    }
    template <class Pool>
    void* pop_slow(Pool& pool) noexcept {
      if (void* const block = pop(pool)) return block;
      if (void* const block = base::pop(pool)) return block;
      return base::pop_slow(pool);
    }
    template <class Pool>
    detail::status push(Pool&, void* block) noexcept {
      if (pocket_ != nullptr) return detail::status::full;
      pocket_ = block;
      return detail::status::done;
    }
    template <class Pool>
    detail::status push_slow(Pool& pool, void* block) noexcept {
      return base::push(pool, std::exchange(pocket_, block));
    }
    template <class Pool>
    void drain(Pool& pool) noexcept {
      if (void* const block = pop(pool))
        if (base::push(pool, block) == detail::status::crowded) base::make_room(pool);
    }
    template <class Pool>
    void drain_all(Pool& pool) noexcept {
      drain(pool);
    }
    void drop_all() noexcept { pocket_ = nullptr; }
  };
};

BOOST_AUTO_TEST_CASE(a_locking_policy_with_a_cache_of_its_own) {
  upstream upstream;
  {
    pool<static_size<64>, pocket_locking, resource_store, counting> pool{resource_store{&upstream}};
    model model(pool);
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 1000; ++i) REQUIRE(model.take());
      BOOST_TEST(pool.statistics().live == model.live());
      while (model.live() > 2) model.give(1);
      model.verify();
    }
    while (model.live() != 0) model.give_newest();
    BOOST_TEST(pool.trim() > 0u);  // the block in the pocket pins no chunk
    BOOST_TEST(upstream.regions() == 0u);
  }
  BOOST_TEST(upstream.faults() == 0u);
}

}  // namespace
}  // namespace tarn::test

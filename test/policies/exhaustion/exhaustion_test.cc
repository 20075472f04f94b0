// What a pool does when its store gives no further chunk: it asks a handler, waits, or takes another store.
#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/observed_thread.h"
#include "tarn/test/support/upstream.h"

namespace {

using namespace tarn;
using test::upstream;
using std::chrono::steady_clock;

// ---- retry_with ----------------------------------------------------------------------------------------------------------

/// Gives blocks of a pool back, one a call.
struct cache {
  std::vector<void*> blocks;
  void (*give)(void*) = nullptr;
  int calls = 0;
};
cache entries;

struct drop_an_entry {
  bool operator()(std::size_t bytes) const noexcept {
    ++entries.calls;
    if (entries.blocks.empty() || bytes != 64) return false;
    entries.give(entries.blocks.back());  // the handler runs with nothing held: the pool can be used
    entries.blocks.pop_back();
    return true;
  }
};

template <class Locking>
struct small {
  using pool = static_pool<small, static_size<64>, Locking, no_growth<50>, retry_with<drop_an_entry>>;
};
using lockings = std::tuple<no_locking, mutex_locking<>, mutex_locking<spin_mutex>, grouped_locking<struct crew>,
                            grouped_locking<struct locked, std::mutex>, thread_cached<>, lock_free>;

BOOST_AUTO_TEST_CASE_TEMPLATE(a_handler_frees_blocks_until_there_is_one, locking, lockings) {
  auto& pool = small<locking>::pool::instance();
  entries = {};
  entries.give = [](void* block) { small<locking>::pool::instance().deallocate(block); };
  while (entries.blocks.size() != 50) entries.blocks.push_back(pool.allocate());
  BOOST_TEST(entries.calls == 0);
  std::set<void*> got;
  for (int i = 0; i < 50; ++i) {
    void* const block = i % 2 == 0 ? pool.allocate() : pool.try_allocate();
    BOOST_REQUIRE(block != nullptr);
    got.insert(block);
  }
  BOOST_TEST(got.size() == 50u);
  BOOST_TEST(entries.blocks.empty());
  BOOST_TEST(entries.calls >= 50);
  const int calls = entries.calls;
  BOOST_TEST(pool.try_allocate() == nullptr);  // it gave up
  BOOST_TEST(entries.calls == calls + 1);
  BOOST_CHECK_THROW(static_cast<void>(pool.allocate()), std::bad_alloc);
  for (void* const block : got) pool.deallocate(block);
}

int asked = 0;
bool never(std::size_t) {
  ++asked;
  return false;
}

BOOST_AUTO_TEST_CASE(a_handler_can_be_a_value) {
  using handler = retry_with<bool (*)(std::size_t)>;
  upstream memory;
  pool<static_size<64>, resource_store, handler> pool{handler{&never}, resource_store{&memory}};
  memory.fail(1, test::failing::for_ever);
  BOOST_TEST(pool.try_allocate() == nullptr);
  BOOST_TEST(asked == 1);
  memory.fail(1, test::failing::never);
  void* const block = pool.try_allocate();
  BOOST_TEST(block != nullptr);
  BOOST_TEST(asked == 1);
  pool.deallocate(block);
}

/// A handler whose copy needs memory that isn't there.
struct dear_handler {
  static inline bool refuse = false;
  static inline int alive = 0;
  dear_handler() noexcept { ++alive; }
  dear_handler(const dear_handler&) {
    if (refuse) throw std::bad_alloc();
    ++alive;
  }
  ~dear_handler() { --alive; }
  bool operator()(std::size_t) const noexcept { return false; }
};

BOOST_AUTO_TEST_CASE(what_the_copy_of_a_handler_throws_the_constructor_throws) {
  using handler = retry_with<dear_handler>;
  using plain = pool<static_size<64>, handler>;
  using objects = object_pool<int, handler>;
  static_assert(!std::is_nothrow_constructible_v<plain, const handler&> && std::is_nothrow_default_constructible_v<plain>);
  static_assert(std::is_nothrow_constructible_v<pool<dynamic_size>, const dynamic_size&>);
  {
    const handler policy;
    dear_handler::refuse = true;
    BOOST_CHECK_THROW(plain{policy}, std::bad_alloc);
    BOOST_CHECK_THROW(objects{policy}, std::bad_alloc);
    dear_handler::refuse = false;
    plain pool{policy};
    pool.deallocate(pool.allocate());
    BOOST_TEST(dear_handler::alive == 2);
  }
  BOOST_TEST(dear_handler::alive == 0);
}

// ---- fall_back_to --------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(blocks_beyond_the_array_come_from_elsewhere_and_go_back_there) {
  upstream memory;
  using second = fall_back_to<resource_store, fixed_growth<10, 40>>;
  using whole = pool<static_size<64>, static_array_store<100>, second>;
  {
    const auto pool = std::make_unique<whole>(second{resource_store{&memory}});
    std::vector<void*> blocks;
    for (int round = 0; round < 3; ++round) {
      while (void* const block = pool->try_allocate()) blocks.push_back(block);
      BOOST_TEST(blocks.size() == 140u);  // both caps are exact
      BOOST_TEST(memory.regions() == 4u);
      std::size_t inside = 0;
      for (void* const block : blocks)
        inside += block >= static_cast<void*>(pool.get()) && block < static_cast<void*>(pool.get() + 1);
      BOOST_TEST(inside == 100u);
      for (void* const block : blocks) pool->deallocate(block);
      blocks.clear();
      pool->trim();
      BOOST_TEST(memory.regions() == 0u);
    }
    BOOST_TEST(pool->try_reserve(140));
    BOOST_TEST(!pool->try_reserve(141));
    BOOST_TEST(pool->capacity() == 140u);
  }
  BOOST_TEST(memory.regions() == 0u);
  BOOST_TEST(memory.faults() == 0u);
}

BOOST_AUTO_TEST_CASE(it_is_asked_where_the_first_store_fails_and_only_there) {
  upstream first;
  upstream second;
  using other = fall_back_to<resource_store, fixed_growth<100>>;
  {
    pool<static_size<64>, resource_store, fixed_growth<100>, other> pool{resource_store{&first},
                                                                         other{resource_store{&second}}};
    std::vector<void*> blocks(400);
    first.fail(2, test::failing::every_second);
    pool.allocate_batch(blocks);
    BOOST_TEST(first.regions() == 2u);
    BOOST_TEST(second.regions() == 2u);
    second.fail(1, test::failing::for_ever);
    first.fail(1, test::failing::for_ever);
    BOOST_TEST(pool.try_allocate() == nullptr);
    BOOST_TEST(pool.capacity() == 400u);
    pool.deallocate_batch(blocks);
    pool.release();
    BOOST_TEST(first.bytes() + second.bytes() == 0u);
  }
  BOOST_TEST(first.faults() + second.faults() == 0u);
}

BOOST_AUTO_TEST_CASE(a_bounded_second_store) {
  std::array<std::byte, 64 * 100> bytes;
  using second = fall_back_to<buffer_store>;
  pool<static_size<64>, no_growth<10>, second> pool{second{buffer_store{bytes}}};
  std::vector<void*> blocks;
  while (void* const block = pool.try_allocate()) blocks.push_back(block);
  BOOST_TEST(blocks.size() > 10u + 90u);  // less the chunk's record
  BOOST_TEST(blocks.size() <= 10u + 100u);
  for (void* const block : blocks) pool.deallocate(block);
}

// ---- wait_for_block ------------------------------------------------------------------------------------------------------

/// Milliseconds, far more than is needed: only who waits in vain ever sees the end of them.
constexpr std::size_t for_ever = 600'000;

using waiting = std::tuple<mutex_locking<>, mutex_locking<spin_mutex>, mutex_locking<thread_aware_mutex>,
                           grouped_locking<struct waiters, std::mutex>>;

BOOST_AUTO_TEST_CASE_TEMPLATE(threads_with_fewer_blocks_than_they_want_all_get_on, locking, waiting) {
  pool<static_size<64>, locking, static_array_store<5>, wait_for_block<for_ever>> pool;
  constexpr int threads = 4;
  constexpr int rounds = 3'000;
  std::atomic<int> failed = 0;
  std::atomic<int> together = 0;
  std::atomic<int> most = 0;
  {
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&] {
        for (int i = 0; i < rounds; ++i) {
          void* const a = pool.try_allocate();  // one each can always be had, and two by one of them
          if (i % 20 == 0) std::this_thread::yield();  // on a busy machine each takes long
          void* const b = pool.try_allocate();
          failed += (a == nullptr) + (b == nullptr);
          const int now = together += 2;
          for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {}
          if (i % 20 == 10) std::this_thread::yield();
          together -= 2;
          std::array<void*, 2> both{a, b};
          if (i % 2 == 0) pool.deallocate_batch(both);
          else for (void* const block : both) pool.deallocate(block);
        }
      });
    }
    for (std::thread& thread : all) thread.join();
  }
  BOOST_TEST(failed == 0);
  BOOST_TEST(most <= 4);  // five blocks: two threads at most have two, and the others wait
  std::printf("%d allocations, at most %d at once\n", 2 * threads * rounds, most.load());
}

BOOST_AUTO_TEST_CASE(a_thread_wakes_when_a_block_is_given_back) {
  pool<static_size<64>, mutex_locking<>, static_array_store<1>, wait_for_block<for_ever>> pool;
  void* const block = pool.allocate();
  std::atomic<bool> got = false;
  test::observed_thread waiter([&] {
    void* const same = pool.allocate();
    got = same == block;
    pool.deallocate(same);
  });
  BOOST_TEST(waiter.comes_to_wait());
  BOOST_TEST(!got);
  pool.deallocate(block);
  waiter.join();
  BOOST_TEST(got);
}

BOOST_AUTO_TEST_CASE(after_the_time_it_fails) {
  using short_wait = static_pool<struct impatient, static_size<64>, mutex_locking<>, static_array_store<2>, wait_for_block<50>>;
  auto& pool = short_wait::instance();
  void* const a = pool.allocate();
  void* const b = pool.allocate();
  for (int round = 0; round < 2; ++round) {
    const auto start = steady_clock::now();
    BOOST_TEST(pool.try_allocate() == nullptr);
    BOOST_TEST((steady_clock::now() - start >= std::chrono::milliseconds(50)));
  }
  BOOST_CHECK_THROW(static_cast<void>(pool.allocate()), std::bad_alloc);
  pool.deallocate(a);
  pool.deallocate(b);
}

BOOST_AUTO_TEST_CASE(what_is_there_is_taken_at_once) {
  pool<static_size<64>, mutex_locking<>, static_array_store<1>, wait_for_block<for_ever>> pool;
  void* const block = pool.allocate();
  pool.deallocate(block);
  BOOST_TEST(pool.try_allocate() == block);
  pool.deallocate(block);
}

}  // namespace

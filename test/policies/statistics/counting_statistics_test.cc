// What counting_statistics counts, whatever way blocks and chunks come and go.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <mutex>
#include <new>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

void expect(const pool_counts& counts, std::size_t in_use, std::size_t peak, std::size_t allocations, called_from = {}) {
  check_that(counts.in_use == in_use, "in_use");
  check_that(counts.peak == peak, "peak");
  check_that(counts.allocations == allocations, "allocations");
}
#define EXPECT(in_use, peak, allocations) expect(pool.statistics(), in_use, peak, allocations)

/// That chunks and blocks in use are what there is, whatever fails: books_balance(), for every composition.
template <class... Policies>
void count_all(called_from = {}) {
  test::upstream upstream;
  pool<static_size<48>, counting_statistics, resource_store, Policies...> pool{resource_store{&upstream}};
  EXPECT(0, 0, 0);
  pool.deallocate(pool.allocate());
  EXPECT(0, 1, 1);
  std::vector<void*> blocks(300);
  pool.allocate_batch(blocks);
  EXPECT(300, 300, 301);
  pool.deallocate_batch(std::span(blocks).first(100));
  EXPECT(200, 300, 301);
  CHECK(pool.try_allocate_batch(std::span(blocks).first(50)) == 50);
  CHECK(pool.try_allocate_batch({}) == 0);
  pool.deallocate_batch({});
  EXPECT(250, 300, 351);

  // What fails counts for nothing, and what a failed batch took on its way is back.
  upstream.fail(1, failing::for_ever);
  std::size_t more = 0;
  void* last = nullptr;
  while (void* const block = pool.try_allocate()) last = block, ++more;
  const std::size_t had = 250 + more;
  const std::size_t peak = std::max<std::size_t>(had, 300);
  EXPECT(had, peak, 351 + more);
  CHECK(throws_bad_alloc([&] { (void)pool.allocate(); }));
  CHECK(!pool.try_reserve(pool.capacity() + 1));
  EXPECT(had, peak, 351 + more);
  pool.deallocate(last);
  std::vector<void*> too_many(5000);
  CHECK(throws_bad_alloc([&] { pool.allocate_batch(too_many); }));
  CHECK(pool.statistics().in_use == had - 1);
  CHECK(pool.statistics().peak == peak);
  upstream.fail(1, failing::never);

  const std::size_t allocations = pool.statistics().allocations;
  pool.release();  // ends blocks that nobody gave back
  EXPECT(0, peak, allocations);
  CHECK(pool.statistics().chunks == 0);
  (void)pool.allocate();
  EXPECT(1, peak, allocations + 1);
  CHECK(pool.statistics().chunks == 1);
  CHECK(pool.statistics().bytes == upstream.bytes());
}

BOOST_AUTO_TEST_CASE(every_way_to_come_and_go_is_counted) {
  count_all<>();
  count_all<mutex_locking<thread_aware_mutex>, lifo_reuse<>, fixed_growth<33>>();
  count_all<grouped_locking<struct counted_group, std::mutex>, batch_reuse<prefetch::none, 128>, geometric_growth<1, 100>>();
}

/// Hooks run outside every lock: each number is right once the threads are done.
template <class Locking>
void count_threads(called_from = {}) {
  upstream upstream;
  pool<static_size<64>, Locking, resource_store, counting_statistics> pool{resource_store{&upstream}};
  std::vector<std::vector<void*>> kept(4);
  std::vector<std::thread> threads;
  for (auto& mine : kept)
    threads.emplace_back([&pool, &mine] {
      for (int i = 0; i < 20'000; ++i) pool.deallocate(pool.allocate());
      for (int i = 0; i < 100; ++i) mine.push_back(pool.allocate());
    });
  for (std::thread& thread : threads) thread.join();
  pool_counts counts = pool.statistics();
  CHECK(counts.in_use == 400);
  CHECK(counts.allocations == 4 * 20'100);
  CHECK(counts.peak >= 400 && counts.peak <= 404);
  CHECK(counts.chunks != 0 && counts.chunks <= upstream.regions());  // the rest is the pool's own memory
  CHECK(counts.bytes <= upstream.bytes());
  for (const auto& mine : kept)
    for (void* const block : mine) pool.deallocate(block);
  CHECK(pool.statistics().in_use == 0);
}

// shows: FM-30
BOOST_AUTO_TEST_CASE(threads_lose_no_count) {
  count_threads<mutex_locking<>>();
  count_threads<lock_free>();
}

/// With `threads` at once: each waits for the others before it ends.
template <class F>
void at_once(std::size_t threads, F each) {
  std::barrier together(static_cast<std::ptrdiff_t>(threads));
  std::vector<std::jthread> all;
  for (std::size_t who = 0; who != threads; ++who)
    all.emplace_back([&, who] { each(who, [&] { together.arrive_and_wait(); }); });
}

BOOST_AUTO_TEST_CASE(threads_with_lines_of_their_own_lose_no_count) {
  for (const std::size_t threads : {2u, 15u, 40u}) {  // 15 have a line; 40 hadn't room
    pool<static_size<64>, thread_cached<>, counting_statistics> pool;
    std::vector<std::vector<void*>> blocks(threads);
    at_once(threads, [&](std::size_t who, auto wait) {
      for (int i = 0; i != 1000; ++i) pool.deallocate(pool.allocate());
      for (int i = 0; i != 500; ++i) blocks[who].push_back(pool.allocate());
      wait();
      for (void* const block : blocks[(who + 1) % threads]) pool.deallocate(block);  // another's
      wait();
    });
    const pool_counts counts = pool.statistics();
    BOOST_TEST(counts.in_use == 0u);
    BOOST_TEST(counts.allocations == threads * 1500);
    BOOST_TEST(counts.peak <= threads * 501);
    BOOST_TEST(counts.peak >= threads * 500 - threads * 501 / 2, counts.peak << " with " << threads);
  }
}
BOOST_AUTO_TEST_CASE(a_peak_that_was_told_stays) {
  pool<static_size<64>, thread_cached<>, counting_statistics> pool;
  std::vector<void*> blocks;
  const auto take = [&](int n) {
    for (int i = 0; i != n; ++i) blocks.push_back(pool.allocate());
  };
  take(10);
  EXPECT(10, 10, 10);
  std::thread([&] { take(33); }).join();
  EXPECT(43, 43, 43);
  for (void* const block : blocks) pool.deallocate(block);
  EXPECT(0, 43, 43);
  blocks.clear();
  std::thread([&] { take(20); }).join();  // it has the number of the one that ended
  EXPECT(20, 43, 63);
  pool.release();
  EXPECT(0, 43, 63);
}
BOOST_AUTO_TEST_CASE(a_peak_of_one_thread_stays_when_another_counts) {
  pool<static_size<64>, thread_cached<>, counting_statistics> pool;
  std::vector<void*> blocks(100);
  for (void*& block : blocks) block = pool.allocate();
  for (void* const block : blocks) pool.deallocate(block);
  at_once(2, [&](std::size_t who, auto wait) {  // one of them has the number of nobody before
    if (who == 0) wait();
    pool.deallocate(pool.allocate());
    if (who == 1) wait();
  });
  BOOST_TEST(pool.statistics().peak == 100u);
}
BOOST_AUTO_TEST_CASE(a_peak_of_two_threads_is_seen_to_a_sixteenth) {
  pool<static_size<64>, thread_cached<>, counting_statistics> pool;
  std::vector<void*> blocks;
  const auto take = [&] {
    for (int i = 0; i != 1000; ++i) blocks.push_back(pool.allocate());
  };
  take();
  std::thread([&] { take(); }).join();
  for (void* const block : blocks) pool.deallocate(block);
  BOOST_TEST(pool.statistics().peak <= 2000u);
  BOOST_TEST(pool.statistics().peak >= 2000u - 2000u / 16);
}
BOOST_AUTO_TEST_CASE(release_ends_blocks_of_threads_without_a_line_too) {
  constexpr std::size_t threads = 40;
  pool<static_size<64>, thread_cached<>, counting_statistics> pool;
  at_once(threads, [&](std::size_t, auto wait) {
    (void)pool.allocate();
    wait();
  });
  BOOST_TEST(pool.statistics().in_use == threads);
  pool.release();
  BOOST_TEST(pool.statistics().in_use == 0u);
  BOOST_TEST(pool.statistics().allocations == threads);
}
BOOST_AUTO_TEST_CASE(a_consumer_s_frees_are_no_peak_of_the_producer) {
  pool<static_size<64>, thread_cached<>, counting_statistics> pool;
  std::vector<void*> box;
  at_once(2, [&](std::size_t who, auto wait) {
    for (int round = 0; round != 300; ++round) {
      if (who == 0)
        while (box.size() != 100) box.push_back(pool.allocate());
      wait();
      if (who == 1) {
        for (void* const block : box) pool.deallocate(block);
        box.clear();
      }
      wait();
    }
  });
  const pool_counts counts = pool.statistics();
  BOOST_TEST(counts.in_use == 0u);
  BOOST_TEST(counts.allocations == 30'000u);
  BOOST_TEST(counts.peak <= 100u);
  BOOST_TEST(counts.peak >= 36u);  // a look after 64 blocks
}
BOOST_AUTO_TEST_CASE(a_thread_that_only_frees_has_a_line_too) {
  pool<static_size<64>, thread_cached<>> pool;
  void* const block = pool.allocate();
  detail::thread_tally<detail::process_threads, 16> tally;
  tally.add(2);
  std::thread([&] {
    pool.deallocate(block);  // gives it a number
    BOOST_TEST(!tally.try_subtract());
    tally.subtract(1);
    BOOST_TEST(tally.try_subtract());
  }).join();
  BOOST_TEST(tally.in_use() == 0u);
  BOOST_TEST(tally.peak() == 2u);
  BOOST_TEST(tally.allocations() == 2u);
}
template <class... Policies>
void count_a_walk(called_from = {}) {
  pool<static_size<32>, counting_statistics, Policies...> pool;
  std::mt19937_64 random(3);
  std::vector<void*> live;
  std::size_t peak = 0, allocations = 0;
  for (int i = 0; i < 50'000; ++i) {
    if (random() % 100 < (i / 5000 % 2 == 0 ? 60u : 40u)) {
      live.push_back(pool.allocate());
      ++allocations;
      peak = std::max(peak, live.size());
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      pool.deallocate(live.back());
      live.pop_back();
    }
    if (i % 97 == 0) EXPECT(live.size(), peak, allocations);
    if (i % 9999 == 0) pool.trim();
  }
  EXPECT(live.size(), peak, allocations);
}
BOOST_AUTO_TEST_CASE(one_thread_counts_exactly) {
  count_a_walk<fixed_growth<100>>();
  count_a_walk<thread_cached<>>();  // with a line of its own
}

BOOST_AUTO_TEST_CASE(defect_12_an_exhausted_pool_counts_its_blocks_and_its_chunk) {
  pool<static_size<32>, counting_statistics, static_array_store<4>> pool;
  CHECK(pool.statistics().chunks == 0);  // untouched yet
  std::vector<void*> blocks(4);
  BOOST_TEST(pool.allocate_batch(blocks) == 4u);
  for (int i = 0; i < 10; ++i) BOOST_TEST(pool.try_allocate() == nullptr);
  EXPECT(4, 4, 4);
  BOOST_TEST(pool.statistics().chunks == 1u);
  BOOST_TEST(pool.statistics().bytes >= 4 * 32u);
}

}  // namespace
}  // namespace tarn::test

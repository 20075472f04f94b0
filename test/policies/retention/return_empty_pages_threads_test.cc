// return_empty_pages where threads share the pool: the system takes pages while others allocate and free.
#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/test/policies/retention/watched_store.h"

namespace tarn::test {
namespace {

template <class Locking>
using shared_pool =
    pool<dynamic_size, watched_store<>, return_empty_pages<10, 16 * KiB>, fixed_growth<8192>, Locking>;
using lockings = std::tuple<mutex_locking<>, thread_cached<>>;

BOOST_AUTO_TEST_CASE_TEMPLATE(threads_find_their_blocks_as_they_left_them, locking, lockings) {
  for (const std::size_t bytes : {16u, 48u, 64u, 1000u, 1024u}) {
    watch seen;
    shared_pool<locking> pool{dynamic_size(bytes), watched_store<>{seen}};
    const std::size_t most = 256 * KiB / bytes;
    std::array<bool, 4> good{};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t != 4; ++t) {
      threads.emplace_back([&, t] {
        stamped_blocks blocks(pool, bytes, t);
        bool well = true;
        for (int round = 0; round != 6; ++round) {
          blocks.add(most - blocks.size());
          blocks.free_neighbours(10, 16 * KiB / bytes);
          for (const std::size_t wanted = blocks.random()() % (most / 2); blocks.size() > wanted;) {
            blocks.free(64);
            blocks.add(blocks.random()() % 40);
          }
          well = well && blocks.are_intact();
          if (t == 0 || round == 5) pool.trim();
        }
        good[t] = well;
        blocks.free(blocks.size());
      });
    }
    for (std::thread& one : threads) one.join();
    BOOST_TEST(good == (std::array{true, true, true, true}), boost::test_tools::per_element());
    std::printf("%zu bytes: %zu runs in %zu calls\n", bytes, seen.runs, seen.discards);
    BOOST_TEST(seen.runs > 0u);
    BOOST_TEST(seen.faults == 0u);
    pool.trim();
    BOOST_TEST(pool.capacity() == 0u);
  }
}

template <class Locking>
using waiting_pool = pool<static_size<64>, watched_store<>, return_empty_pages<25, 64 * MiB>, fixed_growth<8192>, Locking>;

// The pages count as gone, and the system has not taken them yet. Another thread frees blocks beside them, and takes all that
// are left; none of those that are about to go.
BOOST_AUTO_TEST_CASE_TEMPLATE(another_thread_takes_and_frees_while_the_system_takes_pages, locking, lockings) {
  watch seen;
  waiting_pool<locking> pool{watched_store<>{seen}};
  stamped_blocks mine(pool, 64, 1);
  stamped_blocks other(pool, 64, 2);
  leave_one_in_a_thousand(mine, 8 * 8192);
  BOOST_TEST(seen.discards == 0u);
  bool was_good = false;
  seen.meanwhile = [&] {
    std::thread([&] {
      other.add(500);  // of words that have a block in use
      other.free(200);
      mine.free(10);
      other.add(20);
      was_good = other.are_intact() && mine.are_intact();
    }).join();
  };
  BOOST_TEST(pool.trim() > 0u);
  BOOST_TEST(!seen.meanwhile);
  BOOST_TEST(was_good);
  BOOST_TEST(other.are_intact());
  BOOST_TEST(mine.are_intact());
  const std::size_t capacity = pool.capacity();
  const std::size_t regions = seen.regions;
  mine.add(capacity - mine.size() - other.size());
  BOOST_TEST(pool.capacity() == capacity);
  BOOST_TEST(seen.regions == regions);
  std::set<void*> all(mine.all().begin(), mine.all().end());
  all.insert(other.all().begin(), other.all().end());
  BOOST_TEST(all.size() == capacity);
  BOOST_TEST(mine.are_intact());
  BOOST_TEST(other.are_intact());
}

// Blocks that are about to go are handed out again once the system is done with their pages. Where they aren't kept until then,
// the other thread nearly always has them while the store waits for it.
BOOST_AUTO_TEST_CASE_TEMPLATE(blocks_that_are_about_to_go_are_not_handed_out_before_they_went, locking, lockings) {
  watch seen;
  waiting_pool<locking> pool{watched_store<>{seen}};
  stamped_blocks mine(pool, 64, 1);
  stamped_blocks other(pool, 64, 2);
  leave_one_in_a_thousand(mine, 8 * 8192);
  const std::size_t capacity = pool.capacity();
  std::atomic<bool> has_all{false};
  bool was_early = false;
  std::thread taker;
  seen.meanwhile = [&] {
    taker = std::thread([&] {
      other.add(25'000);  // about half of them are in other pages
      has_all = true;
    });
    for (int i = 0; i != 50 && !has_all; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    was_early = has_all;
  };
  BOOST_TEST(pool.trim() > 0u);
  taker.join();
  BOOST_TEST(!was_early);
  BOOST_TEST(other.are_intact());
  BOOST_TEST(mine.are_intact());
  BOOST_TEST(pool.capacity() == capacity);
}

}  // namespace
}  // namespace tarn::test

// Checks that are on find nothing that is right, whatever happens in between, and while another thread switches them.
#include "tarn/policies/checking/switchable_checking.h"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstdlib>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/allocator/block_reservation.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/registry.h"
#include "tarn/policies/locking/lock_free.h"
#include "tarn/policies/locking/thread_cached.h"
#include "tarn/policies/store/page_store.h"
#include "tarn/test/policies/checking/recording.h"

namespace tarn::test {
namespace {

const int named_at_the_start = setenv("TARN_CHECK", "on", 1);  // before any pool: they ask once

template <class... Ps>
using switched_pool = pool<static_size<64>, switchable_checking, Ps...>;

// No wrong report, whatever happens in between.
template <class... Ps>
void finds_nothing_wrong() {
  const recording now;
  switched_pool<named<"on">, Ps...> pool;
  std::mt19937 random(1);
  std::vector<void*> held;
  for (int i = 0; i != 30'000; ++i) {
    const auto what = random() % 100;
    if (what == 0) {
      void* some[20];
      pool.allocate_batch(some);
      held.insert(held.end(), some, some + 20);
    } else if (what == 1 && held.size() >= 20) {
      pool.deallocate_batch(std::span<void* const>(held).last(20));
      held.resize(held.size() - 20);
    } else if (what == 2) {
      if (auto some = pool.try_reserve_blocks(5)) held.push_back(some.allocate());
    } else if (what == 3 && random() % 10 == 0) {
      if constexpr (requires { pool.trim(); }) pool.trim();
    } else if (held.empty() || what < (i / 5000 % 2 == 0 ? 60u : 40u)) {
      held.push_back(pool.allocate());
    } else {
      std::swap(held[random() % held.size()], held.back());
      pool.deallocate(held.back());
      held.pop_back();
    }
  }
  BOOST_TEST(told.size() == 0u);
  for (const pool_record& one : snapshot())
    if (one.address == &pool) BOOST_TEST(one.in_use == held.size());
  pool.deallocate_batch(held);
  if constexpr (requires { pool.release(); }) {
    static_cast<void>(pool.allocate());
    pool.release();
    pool.deallocate(pool.allocate());
  }
  BOOST_TEST(told.size() == 0u);
}
BOOST_AUTO_TEST_CASE(what_is_right_is_not_reported) {
  finds_nothing_wrong<counting_statistics>();
  finds_nothing_wrong<thread_cached<>>();
  finds_nothing_wrong<lock_free>();
  finds_nothing_wrong<lifo_reuse<>, fixed_growth<16>, mutex_locking<>>();
  finds_nothing_wrong<page_local_reuse<>, return_empty_chunks<0, 0>>();
  finds_nothing_wrong<return_empty_pages<0, 0>, page_store<>>();
}

// One thread switches all the time; the others do nothing wrong.
BOOST_AUTO_TEST_CASE(switching_meets_threads) {
  const recording now;
  switched_pool<named<"busy">, mutex_locking<>, fixed_growth<64>> pool;
  std::atomic<int> running = 3, rounds = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t != 3; ++t)
    threads.emplace_back([&pool, &running, &rounds, t] {
      std::mt19937 random(t);
      std::vector<void*> held;
      for (int i = 0; i < 20'000 || rounds < 20; ++i) {
        if (held.empty() || random() % 2 == 0) {
          held.push_back(pool.allocate());
        } else {
          std::swap(held[random() % held.size()], held.back());
          pool.deallocate(held.back());
          held.pop_back();
        }
      }
      pool.deallocate_batch(held);
      --running;
    });
  for (; running != 0; ++rounds) {
    BOOST_REQUIRE(switch_checks("busy", true).switched == 1u);
    BOOST_REQUIRE(switch_checks("busy", false).switched == 1u);
  }
  for (auto& thread : threads) thread.join();
  BOOST_TEST(told.size() == 0u);
}

}  // namespace
}  // namespace tarn::test

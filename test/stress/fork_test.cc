// A process forks while its other threads use pools, hold their locks or wait in their stores. The child has one thread, and
// can use every pool.
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tarn/test/stress/cases.h"
#include "tarn/test/stress/forking.h"
#include "tarn/test/support/observed_thread.h"

namespace tarn::test {
namespace {

constexpr std::size_t forks = up_to(300);

void children_can_use_the_pool(const contender& c) {
  outcomes seen;
  std::size_t rounds = 0;
  {
    hammered pool(c);
    for (std::size_t i = 0; i < forks && seen.hung + seen.bad < 3; ++i) {
      pool.go_on();
      pool.wait_for_rounds();
      const pid_t child = fork_and([&] { return pool.use_in_child(i % 10 == 0); }, long_enough);
      pool.pause();
      seen.wait_for(child);
    }
    rounds = pool.rounds();
  }
  std::printf("%s: %zu children used the pool, %zu hung, %zu failed; %zu rounds of others meanwhile\n", c.name, seen.good,
              seen.hung, seen.bad, rounds);
  CHECK(seen.good == forks);
  CHECK(rounds >= forks);
}
const case_for_each single_cases("children_can_use_the_pool", children_can_use_the_pool);

BOOST_AUTO_TEST_CASE(children_can_use_every_pool_of_the_process) {
  const deadline limit("children_can_use_every_pool_of_the_process");
  std::vector<std::unique_ptr<hammered>> all;
  for (const contender& c : contenders()) all.push_back(std::make_unique<hammered>(c, 1));
  std::atomic<bool> over{false};
  std::atomic<bool> paused{false};
  std::atomic<std::size_t> made{0};
  std::thread maker([&] {  // pools come and go, too
    while (!over) {
      while (paused && !over) std::this_thread::sleep_for(std::chrono::microseconds(200));
      for (const contender& c : contenders()) {
        if (c.is_static) continue;
        const auto pool = c.make();
        if (void* const block = pool->allocate()) pool->deallocate(block);
        ++made;
      }
    }
  });
  outcomes seen;
  const std::size_t times = nightly() ? forks : up_to(30);
  std::chrono::steady_clock::duration slowest{};
  for (std::size_t i = 0; i < times && seen.hung + seen.bad < 3; ++i) {
    paused = false;
    for (auto& pool : all) pool->go_on();
    for (auto& pool : all) pool->wait_for_rounds();
    for (const std::size_t before = made; made < before + 20;) std::this_thread::yield();
    const auto use_all = [&] {
      int wrong = 0;
      for (auto& pool : all) wrong |= pool->use_in_child(false);
      for (const contender& c : contenders()) {
        const auto pool = c.make();
        if (void* const block = pool->allocate()) pool->deallocate(block);
      }
      return wrong;
    };
    const auto start = std::chrono::steady_clock::now();
    const pid_t child = fork_and(use_all, long_enough);
    slowest = std::max(slowest, std::chrono::steady_clock::now() - start);
    paused = true;
    for (auto& pool : all) pool->pause();
    seen.wait_for(child);
  }
  over = true;
  maker.join();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(slowest).count();
  std::printf(
      "%zu children used %zu pools each, %zu hung, %zu failed; %zu pools came and went; the slowest fork took %lld ms\n",
      seen.good, all.size(), seen.hung, seen.bad, made.load(), static_cast<long long>(milliseconds));
  CHECK(seen.good == times);
  CHECK(made >= 20 * times);
}

/// The thread that is in the store holds what keeps others out of it.
void children_can_grow_a_pool_whose_store_was_at_work(const contender& c) {
  constexpr std::size_t times = up_to(30);
  outcomes seen;
  const std::size_t waited = books.waited;
  {
    hammered pool(c);
    for (std::size_t i = 0; i < times && seen.hung + seen.bad < 3; ++i) {
      books.closed = true;
      const std::size_t before = books.waited;
      std::thread grower([&] { pool.pool().reserve(pool.pool().capacity() + 1); });
      while (books.waited == before) std::this_thread::yield();
      std::thread opener([forker = gettid()] {
        while (!is_asleep(forker)) std::this_thread::yield();  // it waits for the store's call, or for its child
        books.closed = false;
      });
      seen.wait_for(fork_and([&] { return pool.use_in_child(false); }, long_enough));
      grower.join();
      opener.join();
    }
    books.closed = false;
  }
  std::printf("%s: %zu children grew the pool, %zu hung, %zu failed; %zu store calls had to wait\n", c.name, seen.good,
              seen.hung, seen.bad, books.waited - waited);
  CHECK(seen.good == times);
  CHECK(books.waited - waited >= times);
}
const case_for_each store_cases("children_can_grow_a_pool_whose_store_was_at_work",
                                children_can_grow_a_pool_whose_store_was_at_work);

// The detector on something broken: a mutex that nobody takes care of, and another thread that holds it.
BOOST_AUTO_TEST_CASE(children_of_a_careless_mutex_hang) {
  std::mutex mutex;
  std::barrier step(2);
  std::thread other([&] {
    const std::lock_guard lock(mutex);
    step.arrive_and_wait();
    step.arrive_and_wait();
  });
  step.arrive_and_wait();
  outcomes seen;
  const auto take_it = [&] {
    const std::lock_guard lock(mutex);
    return 0;
  };
  seen.wait_for(fork_and(take_it, std::chrono::milliseconds(1000)));
  step.arrive_and_wait();
  other.join();
  CHECK(seen.hung == 1);
}

}  // namespace
}  // namespace tarn::test

// Misuse by several threads at once, and none by one: of two that give the same block back, exactly one is refused; and where
// nothing is misused, nothing is reported.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

using locked_hardened = pool<static_size<64>, mutex_locking<>, lifo_reuse<>, hardened_with<shuffled, guard_bytes>>;
using locked_checked = pool<static_size<64>, mutex_locking<>, return_empty_chunks<>, fixed_growth<200>, checked>;
using cached_hardened = pool<static_size<256, 64>, thread_cached<>, hardened>;
using cached_checked = pool<static_size<24>, thread_cached<>, checked_with<shuffled>>;
using lock_free_checked = pool<static_size<64>, lock_free, checked>;

std::atomic<std::size_t> double_frees = 0;
std::atomic<std::size_t> others = 0;

// What is given back by both threads, and how often each block was refused.
std::array<void*, 100> blocks;
std::array<std::atomic<int>, blocks.size()> refusals;

struct counting {
  counting() : before(set_misuse_handler(count)) { double_frees = others = 0; }
  ~counting() { set_misuse_handler(before); }
  counting(const counting&) = delete;
  counting& operator=(const counting&) = delete;
  static void count(const misuse& what) noexcept {
    ++(what.kind == misuse_kind::double_free ? double_frees : others);
    const auto at = std::find(blocks.begin(), blocks.end(), what.address);
    if (at != blocks.end()) ++refusals[static_cast<std::size_t>(at - blocks.begin())];
  }
  misuse_handler before;
};

/// Both start each round together, and go through the same blocks: they meet again and again.
template <class Pool>
void free_at_once(const char* name, std::size_t rounds, called_from = {}) {
  const counting handler;
  Pool pool;
  std::size_t wrong = 0;
  std::barrier step(2);
  std::array<std::atomic<std::size_t>, 2> reached{};
  const auto free_all = [&](std::size_t me, std::size_t round) {
    for (std::size_t i = 0; i != blocks.size(); ++i) {
      const std::size_t place = round * blocks.size() + i;
      reached[me] = place;
      for (int tries = 0; tries != 1000 && reached[1 - me] < place; ++tries) {}  // for the other, if it runs
      pool.deallocate(blocks[i]);
    }
  };
  std::thread other([&] {
    for (std::size_t i = 0; i != rounds; ++i) {
      step.arrive_and_wait();
      free_all(0, i);
      step.arrive_and_wait();
    }
  });
  for (std::size_t i = 0; i != rounds; ++i) {
    for (void*& block : blocks) wrong += (block = pool.try_allocate()) == nullptr;
    for (std::atomic<int>& n : refusals) n = 0;
    step.arrive_and_wait();
    free_all(1, i);
    step.arrive_and_wait();
    for (const std::atomic<int>& n : refusals) wrong += n != 1;
  }
  other.join();
  std::printf("%s: %zu blocks given back by two threads at once, %zu refusals\n", name, rounds * blocks.size(),
              double_frees.load());
  BOOST_TEST(wrong == 0u, name);
  BOOST_TEST(double_frees == rounds * blocks.size(), name);
  BOOST_TEST(others == 0u, name);
  // None was put into the list twice.
  std::vector<void*> all(pool.capacity());
  BOOST_TEST(pool.try_allocate_batch(all) == all.size());
  std::sort(all.begin(), all.end());
  BOOST_TEST((std::adjacent_find(all.begin(), all.end()) == all.end()));
  pool.deallocate_batch(all);
  BOOST_TEST(others == 0u, name);
}

#if defined(__has_feature)
#define TARN_SLOW (__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
#elif defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TARN_SLOW 1
#else
#define TARN_SLOW 0
#endif
#if TARN_SLOW || !defined(__OPTIMIZE__)
constexpr std::size_t rounds = 50;
#else
constexpr std::size_t rounds = 400;
#endif

BOOST_AUTO_TEST_CASE(two_threads_free_the_same_block) {
  free_at_once<locked_hardened>("mutex, hardened", rounds);
  free_at_once<locked_checked>("mutex, checked", rounds);
  free_at_once<cached_hardened>("thread_cached, hardened", rounds);
  free_at_once<cached_checked>("thread_cached, checked", rounds);
  free_at_once<pool<static_size<64>, lock_free, hardened>>("lock_free, hardened", rounds);
  free_at_once<lock_free_checked>("lock_free, checked", rounds);
}

// ---- nothing is misused ----------------------------------------------------------------------------------------------------

/// Every way to take and to give, in bursts; each block's first and last byte is its own.
template <class Pool>
std::size_t use_rightly(Pool& pool, std::size_t operations, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<void*> live;
  const std::size_t bytes = pool.block_size();
  std::size_t done = 0;
  std::array<void*, 32> some;
  const auto take = [&](void* block) {
    std::memset(block, static_cast<int>(live.size() & 0xFF), bytes);
    live.push_back(block);
  };
  while (done < operations) {
    const std::uint64_t dice = random();
    const std::size_t n = 1 + dice % 128;
    switch ((dice >> 8) % 8) {
      case 0: case 1: case 2:
        if (live.size() > 4000) break;
        for (std::size_t i = 0; i != n; ++i) take(pool.try_allocate());
        done += n;
        break;
      case 3: {
        if (live.size() > 4000) break;
        const std::size_t got = pool.try_allocate_batch(std::span(some).first(n % some.size()));
        for (std::size_t i = 0; i != got; ++i) take(some[i]);
        done += got;
        break;
      }
      case 4: case 5: case 6:
        for (std::size_t i = 0; i != n && !live.empty(); ++i, ++done) {
          std::swap(live[(dice >> 16) * (i + 1) % live.size()], live.back());
          if (i % 2 == 0) pool.deallocate(live.back());
          else pool.deallocate(live.back(), bytes - i % 3, 1);
          live.pop_back();
        }
        break;
      default: {
        const std::size_t m = std::min(n, live.size());
        pool.deallocate_batch(std::span(live).last(m));
        live.resize(live.size() - m);
        done += m;
        if constexpr (requires { pool.trim(); })
          if (dice >> 60 == 0) pool.trim();
        if constexpr (requires { pool.verify(); })
          if (dice >> 58 == 0) pool.verify();
      }
    }
  }
  pool.deallocate(nullptr);
  pool.deallocate_batch(live);
  return done;
}

template <class Pool>
void use_together(called_from = {}) {
  constexpr std::size_t operations = 250'000;  // of each thread
  const counting handler;
  {
    Pool pool;
    std::thread other([&] { BOOST_TEST(use_rightly(pool, operations, 5) >= operations); });
    use_rightly(pool, operations, 7);
    other.join();
  }
  BOOST_TEST(double_frees + others == 0u);
}

BOOST_AUTO_TEST_CASE(nothing_is_reported_where_nothing_is_wrong) {
  use_together<locked_hardened>();
  use_together<locked_checked>();
  use_together<cached_hardened>();
  use_together<cached_checked>();
  use_together<lock_free_checked>();
}

#if defined(TARN_ASAN)
/// Says, each time it is released, whether the watched block is poisoned.
struct watching_mutex {
  void lock() { held.lock(); }
  bool try_lock() { return held.try_lock(); }
  void unlock() {
    if (watched != nullptr) poisoned.push_back(__asan_address_is_poisoned(watched) != 0);
    held.unlock();
  }
  mutex held;
  inline static const void* watched = nullptr;
  inline static std::vector<bool> poisoned;
};
struct watched_magazines : thread_cached<> {
  template <class>
  using state = detail::magazine_calls<detail::mutex_pair<watching_mutex>, detail::process_threads, 16, 5>;
};

/// Another thread's verify() opens a free block, looks into it and poisons it again. If the block were poisoned after the guard
/// was released under which it became free, that could happen meanwhile.
template <class Checking>
void poisoned_when_released(void (*give_back)(pool<static_size<64>, watched_magazines, Checking>&, void*), called_from = {}) {
  pool<static_size<64>, watched_magazines, Checking> p;
  void* const block = p.allocate();
  watching_mutex::poisoned.clear();
  watching_mutex::watched = block;
  give_back(p, block);
  watching_mutex::watched = nullptr;
  CHECK(!watching_mutex::poisoned.empty() && watching_mutex::poisoned.front());
}

BOOST_AUTO_TEST_CASE(a_block_is_poisoned_before_another_thread_can_look_into_it) {
  poisoned_when_released<checked>([](auto& p, void* block) { p.deallocate(block); });
  poisoned_when_released<checked>([](auto& p, void* block) { p.deallocate_batch(std::span(&block, 1)); });
  poisoned_when_released<hardened>([](auto& p, void* block) { p.deallocate(block); });
}
#endif

}  // namespace
}  // namespace tarn::test

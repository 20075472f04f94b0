// Pools that several threads share, and groups. Blocks change hands; every byte is written by one thread and read by another.
#include <boost/test/unit_test.hpp>

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/policies/locking/group_guard.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/observed_thread.h"

#if !defined(TARN_TSAN)  // which must see locks itself
// Locks of the calling thread, of every mutex that is the system's.
constinit thread_local std::size_t locks = 0;

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static constinit std::atomic<int (*)(pthread_mutex_t*)> real = nullptr;
  if (real == nullptr) real = reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++locks;
  return real.load()(mutex);
}
#endif

namespace tarn::test {
namespace {

constexpr std::size_t thread_count = 4;

/// Any BasicLockable serves. It also counts, so that a pool which doesn't lock is seen.
class counting_mutex {
 public:
  void lock() {
    mutex_.lock();
    ++locked;
  }
  void unlock() { mutex_.unlock(); }
  static inline std::atomic<std::size_t> locked{0};

 private:
  std::mutex mutex_;
};

/// A store that is no more thread-safe than it needs to be, and says so when two calls overlap.
struct lonely_store {
  using axis = tarn::axis::store;
  static constexpr tarn::store_traits traits{};
  static inline std::atomic<int> inside{0};
  static inline std::atomic<std::size_t> overlaps{0};
  static inline std::atomic<std::size_t> calls{0};

  struct visit {
    visit() {
      if (inside.fetch_add(1) != 0) ++overlaps;
      ++calls;
      std::this_thread::yield();
    }
    ~visit() { --inside; }
  };
  template <class Traits>
  struct source : heap_store::source<Traits> {
    using base = heap_store::source<Traits>;
    explicit source(const lonely_store&) noexcept : base(heap_store{}) {}
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      visit v;
      return base::acquire(bytes, alignment);
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      visit v;
      base::release(region, alignment);
    }
  };
};

/// Threads take blocks, write them, and hand them over through slots to whoever comes by.
template <class Pool>
std::size_t hand_over(Pool& pool, std::size_t rounds, called_from = {}) {
  std::vector<std::atomic<unsigned char*>> slots(64);
  std::atomic<std::size_t> handed{0};
  std::atomic<std::size_t> spoiled{0};
  const auto work = [&](unsigned who) {
    std::size_t got = 0;
    unsigned random = who * 7919 + 1;
    for (std::size_t i = 0; i < rounds; ++i) {
      random = random * 1664525 + 1013904223;
      auto* block = static_cast<unsigned char*>(pool.try_allocate());
      if (block == nullptr) continue;
      std::memset(block, static_cast<int>(random >> 24), pool.block_size());
      block = slots[(random >> 8) % slots.size()].exchange(block);
      if (block != nullptr) {
        for (std::size_t b = 1; b < pool.block_size(); ++b) spoiled += block[b] != block[0];
        pool.deallocate(block);
        ++got;
      }
      if (i % 1000 == 999) {  // the pool grows and shrinks while the others work
        std::vector<void*> burst(300);
        const std::size_t n = pool.try_allocate_batch(burst);
        pool.deallocate_batch(std::span(burst).first(n));
        pool.trim();
      }
    }
    handed += got;
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < thread_count; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
  for (auto& slot : slots)
    if (auto* const block = slot.load()) pool.deallocate(block);
  BOOST_TEST(spoiled.load() == 0u);
  return handed.load();
}

/// One thread, in which the mutex plays the others: when it is about to be locked, they come first.
struct meddled_mutex {
  void lock() {
    if (others) others();
  }
  void unlock() {}
  static inline std::function<void()> others;
};

// Between the push that fills the array in front and the making of room another thread may not push: it would write in front
// of the array. Whatever is locked in between, four others use the chance here.
BOOST_AUTO_TEST_CASE(room_is_made_before_another_thread_can_push) {
  pool<static_size<64>, mutex_locking<meddled_mutex>> pool;
  std::vector<void*> blocks(4000);
  for (void*& block : blocks) block = pool.allocate();
  const std::set<void*> all(blocks.begin(), blocks.end());
  std::size_t next = 0;
  std::size_t locks = 0;
  std::size_t meddled = 0;
  bool meddling = false;
  meddled_mutex::others = [&] {
    if (meddling || ++locks < 2) return;  // the first is that of the free itself
    meddling = true;
    for (int k = 0; k < 4 && next < blocks.size(); ++k) pool.deallocate(blocks[next++]);
    ++meddled;
    meddling = false;
  };
  while (next < blocks.size()) {
    locks = 0;
    pool.deallocate(blocks[next++]);
  }
  meddled_mutex::others = nullptr;
  BOOST_TEST(meddled == 0u);  // nothing is locked a second time
  std::set<void*> again;
  for (std::size_t i = 0; i < blocks.size(); ++i) again.insert(pool.allocate());
  BOOST_TEST((again == all));
}

BOOST_AUTO_TEST_CASE(a_pool_with_a_mutex_of_the_user_survives_hand_overs_growth_and_trims) {
  pool<static_size<64>, mutex_locking<counting_mutex>, lonely_store, fixed_growth<64>> pool;
  const std::size_t locked = counting_mutex::locked;
  const std::size_t overlaps = lonely_store::overlaps;
  const std::size_t calls = lonely_store::calls;
  std::size_t handed = 0;
  while (handed < 50000 || lonely_store::calls - calls < 100) handed += hand_over(pool, 20000);
  BOOST_TEST(counting_mutex::locked - locked >= 2 * handed);
  BOOST_TEST(lonely_store::overlaps == overlaps);
  pool.trim();
  BOOST_TEST(pool.capacity() == 0u);  // every block came back
}

BOOST_AUTO_TEST_CASE(a_group_guard_locks_once_for_many_operations_on_many_pools) {
  using group = struct guarded_group;
  pool<static_size<64>, grouped_locking<group, counting_mutex>> a;
  pool<static_size<32>, grouped_locking<group, counting_mutex>> b;
  const std::size_t before = counting_mutex::locked;
  {
    const group_guard<group, counting_mutex> guard;
    const group_guard<group, counting_mutex> nested;
    std::vector<void*> blocks(500);
    a.allocate_batch(blocks);  // it grows, too
    a.deallocate_batch(blocks);
    for (void*& block : blocks) block = b.allocate();
    for (void* const block : blocks) b.deallocate(block);
    BOOST_TEST(a.trim() != 0u);
    BOOST_TEST(counting_mutex::locked - before == 2u);
  }
  b.deallocate(b.allocate());
  BOOST_TEST(counting_mutex::locked - before > 2u);
}

/// Its lock() throws, once.
struct refusing_mutex {
  static inline int calls_until_it_throws = 0;
  static inline int held = 0;  // of all of them
  std::mutex mutex;
  void lock() {
    if (--calls_until_it_throws == 0) throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur));
    mutex.lock();
    ++held;
  }
  bool try_lock() {
    const bool locked = mutex.try_lock();
    held += locked;
    return locked;
  }
  void unlock() {
    --held;
    mutex.unlock();
  }
};

BOOST_AUTO_TEST_CASE(a_group_guard_that_cannot_lock_leaves_nothing_locked) {
  using group = struct refused_group;
  int thrown = 0;
  for (int throws_at = 1; throws_at <= 2; ++throws_at) {  // one of them locks the second mutex
    refusing_mutex::calls_until_it_throws = throws_at;
    try {
      const group_guard<group, refusing_mutex> guard;
      BOOST_TEST(refusing_mutex::held == 2);
    } catch (const std::system_error&) {
      ++thrown;
    }
    BOOST_REQUIRE(refusing_mutex::held == 0);
  }
  BOOST_TEST(thrown != 0);
  refusing_mutex::calls_until_it_throws = 0;
  const group_guard<group, refusing_mutex> guard;  // and the next one locks
  BOOST_TEST(refusing_mutex::held == 2);
}

BOOST_AUTO_TEST_CASE(a_group_guard_keeps_other_threads_out) {
  using group = struct excluded_group;
  pool<static_size<64>, grouped_locking<group, std::mutex>> pool;
  std::atomic<bool> done{false};
  std::optional<observed_thread> other;
  {
    const group_guard<group> guard;
    pool.deallocate(pool.allocate());
    other.emplace([&] {
      pool.deallocate(pool.allocate());
      done = true;
    });
    BOOST_TEST(other->comes_to_wait());
    BOOST_TEST(!done.load());
  }
  other->join();
  BOOST_TEST(done.load());
}

static_assert(sizeof(pool<static_size<64>, grouped_locking<struct quiet_group>>) == sizeof(pool<static_size<64>>));

#if !defined(TARN_TSAN)
/// Locks that a thread takes for all that a pool can be asked for. It grows and shrinks, but asks for memory only once it has
/// some: the heap may lock.
template <class Locking>
std::size_t locks_of_a_pool() {
  std::vector<std::byte> bytes(100'000);
  std::vector<void*> blocks(500);
  pool<static_size<64>, Locking, buffer_store> pool{buffer_store{bytes}};
  const std::size_t before = locks;
  pool.deallocate(pool.allocate());
  pool.allocate_batch(blocks);
  pool.deallocate_batch(blocks);
  pool.reserve(pool.capacity());
  pool.release();
  return locks - before;
}

BOOST_AUTO_TEST_CASE(groups_without_a_mutex_take_no_lock) {
  BOOST_TEST(locks_of_a_pool<grouped_locking<struct quiet_group>>() == 0u);
  BOOST_TEST(locks_of_a_pool<no_locking>() == 0u);
  BOOST_TEST((locks_of_a_pool<grouped_locking<struct loud_group, std::mutex>>()) >= 4u);
  BOOST_TEST(locks_of_a_pool<mutex_locking<std::mutex>>() >= 4u);
}
#endif

// The detector on something broken: two calls of a store at once.
BOOST_AUTO_TEST_CASE(calls_of_a_store_that_overlap_are_seen) {
  const std::size_t before = lonely_store::overlaps;
  std::barrier inside(2);
  const auto call = [&] {
    const lonely_store::visit now;
    inside.arrive_and_wait();
  };
  std::thread other(call);
  call();
  other.join();
  BOOST_TEST(lonely_store::overlaps - before == 1u);
}

}  // namespace
}  // namespace tarn::test

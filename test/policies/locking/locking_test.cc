// Whose mutexes a pool locks, when, and how often; groups and their guards.
#include <boost/test/unit_test.hpp>

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
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

}  // namespace
}  // namespace tarn::test

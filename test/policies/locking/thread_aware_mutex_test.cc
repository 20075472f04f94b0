// A mutex that a pool's guard leaves alone while there is one thread. What happens then happens before the first case,
// whichever that is: the process never has one thread again, as far as glibc says.
#include <boost/test/unit_test.hpp>

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define KNOWS_SINGLE_THREAD 1
#endif
#endif

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/policies/locking.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/observed_thread.h"

namespace tarn::test {
namespace {

#if defined(TARN_TSAN)  // which has a thread of its own
#undef KNOWS_SINGLE_THREAD
#endif

#if defined(KNOWS_SINGLE_THREAD)
constexpr bool can_be_alone = true;
#else
constexpr bool can_be_alone = false;
#endif

bool alone() {
#if defined(KNOWS_SINGLE_THREAD)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

/// Another thread that waits for the mutex, and says when it has it.
class waiter {
 public:
  explicit waiter(thread_aware_mutex& mutex)
      : thread_([this, &mutex] {
          const std::lock_guard lock(mutex);
          has_it_ = true;
        }) {}

  /// Where it never gets it, this never returns.
  bool gets_it() {
    thread_.join();
    return has_it_;
  }
  bool waits() const { return thread_.comes_to_wait() && !has_it_; }

 private:
  std::atomic<bool> has_it_{false};
  observed_thread thread_;
};

struct notebook {
  thread_aware_mutex mutex;
  std::size_t lines = 0;
};

/// Of a program that has one thread at first.
pool<static_size<32>, mutex_locking<thread_aware_mutex>, fixed_growth<50>> early_pool;
std::vector<unsigned char*> early_blocks;

/// What was seen until the second thread came.
struct beginning {
  static inline bool was_alone = false, second_got_it = false, still_alone = true, still_locked = false;

  beginning() {
    for (unsigned i = 0; i < 120; ++i) {
      auto* const block = static_cast<unsigned char*>(early_pool.allocate());
      std::memset(block, static_cast<int>(i), 32);
      early_blocks.push_back(block);
    }
    was_alone = alone();
    if (!was_alone) return;
    thread_aware_mutex mutex;
    std::optional<thread_aware_mutex::guard> guard(std::in_place, mutex);
    second_got_it = waiter(mutex).gets_it();  // the second thread starts while the guard is held
    still_alone = alone();
    // What didn't lock doesn't unlock either, though there was a second thread by then.
    mutex.lock();
    guard.reset();
    still_locked = !mutex.try_lock();
    mutex.unlock();
  }
};
BOOST_TEST_GLOBAL_FIXTURE(beginning);

BOOST_AUTO_TEST_CASE(the_only_thread_takes_no_lock) {
  BOOST_TEST(beginning::was_alone == can_be_alone);
  BOOST_TEST(beginning::second_got_it == can_be_alone);
  BOOST_TEST(beginning::still_alone != can_be_alone);
  BOOST_TEST(beginning::still_locked == can_be_alone);
}

BOOST_AUTO_TEST_CASE(lock_and_unlock_always_lock) {
  thread_aware_mutex mutex;
  mutex.lock();
  waiter other(mutex);
  BOOST_TEST(other.waits());
  mutex.unlock();
  BOOST_TEST(other.gets_it());
  BOOST_TEST(waiter(mutex).gets_it());
}

BOOST_AUTO_TEST_CASE(a_guard_locks_once_there_are_threads) {
  std::thread([] {}).join();
  BOOST_TEST(!alone());
  thread_aware_mutex mutex;
  std::optional<thread_aware_mutex::guard> guard(std::in_place, mutex);
  waiter other(mutex);
  BOOST_TEST(other.waits());
  guard.reset();
  BOOST_TEST(other.gets_it());
}

BOOST_AUTO_TEST_CASE(two_guards_exclude_each_other) {
  notebook book;
  std::atomic<int> inside{0}, together{0};
  const auto write = [&] {
    for (int i = 0; i < 20'000; ++i) {
      const thread_aware_mutex::guard guard(book.mutex);
      if (inside.fetch_add(1, std::memory_order_relaxed) != 0) ++together;
      ++book.lines;
      inside.fetch_sub(1, std::memory_order_relaxed);
    }
  };
  std::thread one(write), two(write), three(write);
  one.join();
  two.join();
  three.join();
  BOOST_TEST(book.lines == 60'000u);
  BOOST_TEST(together == 0);
}

// A pool's hit takes the guard, and not lock_guard.
using aware = detail::mutex_pair<thread_aware_mutex>;
static_assert(std::same_as<decltype(std::declval<const aware&>().hot()), thread_aware_mutex::guard>);
using plain = detail::mutex_pair<std::mutex>;
static_assert(std::same_as<decltype(std::declval<const plain&>().hot()), detail::held<std::mutex>>);
static_assert(std::same_as<detail::default_sharing<buffer_store>, mutex_locking<thread_aware_mutex>>);

BOOST_AUTO_TEST_CASE(blocks_of_the_time_alone_are_given_back_by_threads) {
  BOOST_REQUIRE(early_blocks.size() == 120u);
  std::atomic<int> faults{0};
  const auto work = [&](std::size_t who) {
    for (std::size_t i = who; i < early_blocks.size(); i += 3) {
      for (std::size_t byte = 0; byte < 32; ++byte)
        if (early_blocks[i][byte] != i) ++faults;
      early_pool.deallocate(early_blocks[i]);
    }
    for (int i = 0; i < 5000; ++i) {
      auto* const block = static_cast<unsigned char*>(early_pool.allocate());
      std::memset(block, static_cast<int>(who), 32);
      if (block[31] != who) ++faults;
      early_pool.deallocate(block);
    }
  };
  std::thread one(work, 0), two(work, 1), three(work, 2);
  one.join();
  two.join();
  three.join();
  BOOST_TEST(faults == 0);
}

}  // namespace
}  // namespace tarn::test

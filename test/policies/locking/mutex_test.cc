// The library's own mutexes: they exclude, try_lock() sees that one is taken, and a waiting thread sleeps. tarn::mutex may be
// locked while the process has one thread and unlocked when it has two; the guard of thread_aware_mutex leaves it alone then.
#include <boost/test/unit_test.hpp>

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define KNOWS_SINGLE_THREAD 1
#endif
#endif

#include <atomic>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/policies/locking.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/platform/waiting.h"
#include "tarn/test/support/observed_thread.h"

namespace tarn::test {
namespace {

static_assert(sizeof(mutex) == sizeof(unsigned) && sizeof(spin_mutex) == 1);
static_assert(std::is_trivially_destructible_v<mutex>);
constinit mutex of_process;

// Runs before main(), where the process has one thread.
bool locked_alone = [] {
  of_process.lock();
  return detail::is_single_threaded();
}();

BOOST_AUTO_TEST_CASE(locked_alone_it_is_locked_for_threads_and_unlocked_among_them) {
  bool got = true;
  std::atomic<bool> unlocked{false};
  observed_thread other([&] {
    got = of_process.try_lock();
    of_process.lock();
    BOOST_TEST(unlocked.load());
    of_process.unlock();
  });
  BOOST_TEST(other.comes_to_wait());
  BOOST_TEST(!detail::is_single_threaded());
  unlocked = true;
  of_process.unlock();
  other.join();
  BOOST_TEST(!got);
  BOOST_TEST_MESSAGE((locked_alone ? "locked without an atomic operation" : "locked as ever"));
}

// What both of the library's own do.
using mutexes = std::tuple<mutex, spin_mutex>;

BOOST_AUTO_TEST_CASE_TEMPLATE(one_thread_at_a_time, Mutex, mutexes) {
  constexpr std::size_t rounds = 50'000;
  Mutex shared;
  std::size_t count = 0;  // no atomic: the mutex is all it has
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < rounds; ++i) {
        const std::lock_guard lock(shared);
        ++count;
      }
    });
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(count == 4 * rounds);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(try_lock_says_whether_it_could, Mutex, mutexes) {
  Mutex one;
  BOOST_TEST(one.try_lock());
  bool again = true;
  std::thread([&] { again = one.try_lock(); }).join();
  BOOST_TEST(!again);
  one.unlock();
  BOOST_TEST(one.try_lock());
  one.unlock();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(threads_that_wait_sleep_and_get_it_one_after_the_other, Mutex, mutexes) {
  Mutex one;
  int inside = 0;
  int most = 0;
  const auto wait = [&] {
    one.lock();
    ++inside;
    most = inside > most ? inside : most;
    --inside;
    one.unlock();
  };
  one.lock();
  observed_thread first(wait);
  BOOST_TEST(first.comes_to_wait());  // where it only spun or yielded, this wouldn't end
  observed_thread second(wait);
  BOOST_TEST(second.comes_to_wait());
  one.unlock();
  first.join();
  second.join();  // of two that wait, the first wakes the second
  BOOST_TEST(most == 1);
}

// A free may wait for another thread, and free() leaves errno as it was.
BOOST_AUTO_TEST_CASE(waiting_leaves_errno_as_it_was) {
  const unsigned word = 1;
  errno = 4711;
  detail::wait_while(&word, 2);       // nothing to wait for: EAGAIN
  detail::wait_while(&word, 1, 1000);  // ETIMEDOUT
  detail::sleep_microseconds(1);
  BOOST_TEST(errno == 4711);
}

// ---- thread_aware_mutex -----------------------------------------------------------------------------------------------------

// What happens while there is one thread happens before the first case, whichever that is: the process never has one thread
// again, as far as glibc says.
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
    auto guard = std::make_unique<thread_aware_mutex::guard>(mutex);
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
  auto guard = std::make_unique<thread_aware_mutex::guard>(mutex);
  waiter other(mutex);
  BOOST_TEST(other.waits());
  guard.reset();
  BOOST_TEST(other.gets_it());
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

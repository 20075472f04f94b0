// The library's own mutexes: they exclude, try_lock() sees that one is taken, and a waiting thread sleeps. tarn::mutex may be
// locked while the process has one thread and unlocked when it has two.
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <mutex>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

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

}  // namespace
}  // namespace tarn::test

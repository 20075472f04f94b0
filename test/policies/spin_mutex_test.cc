// A mutex that spins: it excludes, it lets try_lock() see that it is taken, and who waits long gets it in the end.
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "tarn/policies/locking/spin_mutex.h"
#include "tarn/test/support/observed_thread.h"

namespace tarn::test {
namespace {

static_assert(sizeof(spin_mutex) == 1);

BOOST_AUTO_TEST_CASE(one_thread_at_a_time) {
  constexpr std::size_t rounds = 50'000;
  spin_mutex mutex;
  std::size_t count = 0;  // no atomic: the mutex is all it has
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < rounds; ++i) {
        const std::lock_guard lock(mutex);
        ++count;
      }
    });
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(count == 4 * rounds);
}

BOOST_AUTO_TEST_CASE(try_lock_says_whether_it_could) {
  spin_mutex mutex;
  BOOST_TEST(mutex.try_lock());
  bool again = true;
  std::thread([&] { again = mutex.try_lock(); }).join();
  BOOST_TEST(!again);
  mutex.unlock();
  BOOST_TEST(mutex.try_lock());
  mutex.unlock();
}

BOOST_AUTO_TEST_CASE(a_waiting_thread_sleeps_and_gets_it_in_the_end) {
  spin_mutex mutex;
  std::atomic<bool> got{false};
  mutex.lock();
  observed_thread waiter([&] {
    mutex.lock();
    got = true;
    mutex.unlock();
  });
  BOOST_TEST(waiter.comes_to_wait());  // where it only spun or yielded, this wouldn't end
  BOOST_TEST(!got.load());
  mutex.unlock();
  waiter.join();
  BOOST_TEST(got.load());
}

}  // namespace
}  // namespace tarn::test

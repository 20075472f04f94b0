// A mutex that spins: a thread that waits long sleeps, and gets it in the end. What it shares with tarn::mutex is in
// mutex_test.cc.
#include <boost/test/unit_test.hpp>

#include <atomic>

#include "tarn/policies/locking/mutex.h"
#include "tarn/test/support/observed_thread.h"

namespace tarn::test {
namespace {

static_assert(sizeof(spin_mutex) == 1);

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

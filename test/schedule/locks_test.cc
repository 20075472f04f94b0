// spin_mutex and shared_cell, under every order that few preemptions make: one thread at a time holds a mutex, and no change of
// a number is lost.
#include <boost/test/unit_test.hpp>

#include <array>

#include "tarn/test/schedule/explore.h"
#include "tarn/test/schedule/locks_variants.h"
#include "tarn/test/schedule/memory_model.h"
#include "tarn/test/schedule/scheduled.h"
#include "tarn/test/schedule/scheduler.h"

namespace {

using namespace tarn::test;
namespace variants = tarn::detail::variants;
using right = variants::as_it_is::types;

using words = std::array<const char*, 4>;

/// l adds one under the mutex, t where it can be had at once.
template <class Types>
class mutex_world {
 public:
  explicit mutex_world(const words& script) : script_(script) {}
  void run(unsigned thread) {
    for (const char* op = script_[thread]; *op != '\0'; ++op) {
      if (*op == 't' && !mutex_.try_lock()) continue;
      if (*op == 'l') mutex_.lock();
      ++sum_;
      expected_.fetch_add(1, tarn::detail::memory_order_relaxed);
      mutex_.unlock();
    }
  }
  void finish() {
    if (sum_ != expected_.peek()) the_scheduler.fail("a sum is lost");
  }

 private:
  const words& script_;
  typename Types::mutex mutex_;
  watched<unsigned> sum_ = 0;
  scheduled_atomic<unsigned> expected_ = 0;
};

/// + adds two, - subtracts one, a digit raises.
template <class Types>
class cell_world {
 public:
  cell_world(const words& script, unsigned expected) : script_(script), expected_(expected) {}
  void run(unsigned thread) {
    for (const char* op = script_[thread]; *op != '\0'; ++op) {
      if (*op == '+') cell_ += 2;
      else if (*op == '-') cell_ -= 1;
      else raise(cell_, static_cast<unsigned>(*op - '0'));
    }
  }
  void finish() {
    if (cell_ != expected_) the_scheduler.fail("a change is lost");
  }

 private:
  const words& script_;
  unsigned expected_;
  typename Types::cell cell_ = 0;
};

BOOST_AUTO_TEST_CASE(one_thread_holds_a_spin_mutex) {
  const bounds limits{4, 0, 1};
  expect_right<mutex_world<right>>("spin_mutex: ll ll", 2, limits, 2'000, words{"ll", "ll"});
  expect_right<mutex_world<right>>("spin_mutex: lt tl", 2, limits, 2'700, words{"lt", "tl"});
  expect_right<mutex_world<right>>("spin_mutex: l l t", 3, {3, 0, 1}, 14'000, words{"l", "l", "t"});
}

BOOST_AUTO_TEST_CASE(no_change_of_a_cell_is_lost) {
  expect_right<cell_world<right>>("shared_cell: +-+ +-", 2, {bounds::any, 0, 1}, 10, words{"+-+", "+-"}, 4u);
  expect_right<cell_world<right>>("shared_cell: 35 47 6", 3, {bounds::any, 1}, 230'000, words{"35", "47", "6"}, 7u);
}

template <class Types>
void expect_found(const char* name, const words& script) {
  expect_wrong<mutex_world<Types>>(name, 2, {2}, script);
}
BOOST_AUTO_TEST_CASE(mistakes_with_mutexes_and_cells_are_found) {
  expect_found<variants::locked_relaxed::types>("locked relaxed", {"l", "l"});
  expect_found<variants::tried_relaxed::types>("tried relaxed", {"t", "t"});
  expect_found<variants::unlocked_relaxed::types>("unlocked relaxed", {"l", "l"});
  expect_found<variants::looked_then_locked::types>("looked, then locked", {"t", "t"});
  expect_found<variants::waits_once::types>("waits once", {"l", "l"});
  expect_wrong<cell_world<variants::added_in_two_steps::types>>("added in two steps", 2, {1}, words{"+", "+"}, 4u);
  expect_wrong<cell_world<variants::raised_in_two_steps::types>>("raised in two steps", 2, {1}, words{"5", "7"}, 7u);
}

}  // namespace

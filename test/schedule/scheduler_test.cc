// The scheduler itself: it tries every order, each once, and finds what it is there to find.
#include <boost/test/unit_test.hpp>

#include <array>
#include <mutex>
#include <set>
#include <string>

#include "tarn/test/schedule/explore.h"
#include "tarn/test/schedule/scheduled.h"
#include "tarn/test/schedule/scheduler.h"

namespace {

using namespace tarn::test;

std::set<std::string> orders;

/// Each thread makes so many steps; the order is noted.
struct steps {
  explicit steps(unsigned threads_wanted, unsigned steps_wanted) : number(steps_wanted), threads(threads_wanted) {}
  void run(unsigned thread) {
    for (unsigned i = 0; i != number; ++i) {
      shared.fetch_add(1);
      order[made++] = static_cast<char>('0' + thread);
    }
  }
  void finish() {
    if (shared.peek() != number * threads) the_scheduler.fail("a step is missing");
    orders.insert(std::string(order.data(), made));
  }

  scheduled_atomic<unsigned> shared = 0;
  unsigned number;
  unsigned threads;
  unsigned made = 0;
  std::array<char, 64> order;
};

BOOST_AUTO_TEST_CASE(every_order_is_tried_once) {
  for (const auto& [threads, number, expected] : {std::array{2u, 5u, 252u}, {3u, 3u, 1680u}, {4u, 2u, 2520u}}) {
    orders.clear();
    const exploration e = explore<steps>(threads, {bounds::any}, threads, number);
    BOOST_TEST(e.failure == "");
    BOOST_TEST(e.schedules == expected);  // (threads * number)! / number! ^ threads
    BOOST_TEST(orders.size() == expected);
  }
}

/// A sum that is read and written in two steps.
struct torn_sum {
  void run(unsigned) {
    for (int i = 0; i != 2; ++i) sum.store(sum.load() + 1);
  }
  void finish() {
    if (sum.peek() != 4) the_scheduler.fail("a sum is lost");
  }
  scheduled_atomic<int> sum = 0;
};

struct guarded_sum : torn_sum {
  void run(unsigned thread) {
    const std::lock_guard lock(mutex);
    torn_sum::run(thread);
  }
  scheduled_mutex mutex;
};

BOOST_AUTO_TEST_CASE(a_lost_update_is_found_and_found_again) {
  expect_right<torn_sum>("two sums without preemption", 2, {0}, 2);
  expect_wrong<torn_sum>("two sums", 2, {1});
  expect_right<guarded_sum>("two sums under a mutex", 2, {bounds::any}, 10);
  BOOST_TEST(replay<torn_sum>(2, "0011110011") == "the schedule is of other threads");
}

/// Two mutexes, locked by two threads in opposite orders.
struct crossed {
  void run(unsigned thread) {
    const std::lock_guard one(mutexes[thread]);
    const std::lock_guard other(mutexes[1 - thread]);
  }
  void finish() {}
  std::array<scheduled_mutex, 2> mutexes;
};
struct endless {
  void run(unsigned) { while (value.load() == 0) {} }
  void finish() {}
  scheduled_atomic<int> value = 0;
};
struct nowhere {
  void run(unsigned thread) {
    if (thread == 1 && pointer.load() == nullptr) *pointer.load() = 1;
    pointer.store(&value);
  }
  void finish() {}
  scheduled_atomic<volatile int*> pointer = nullptr;
  volatile int value = 0;
};

BOOST_AUTO_TEST_CASE(threads_that_never_end_are_found) {
  BOOST_TEST(explore<crossed>(2, {0}).failure == "");
  BOOST_TEST(explore<endless>(2, {0}).failure == "the threads go on for ever");
  expect_wrong<crossed>("crossed mutexes", 2, {1});
  expect_wrong<nowhere>("a null pointer", 2, {bounds::any});
}

/// Fails unless a weak compare-exchange is tried again.
struct weak {
  void run(unsigned) {
    int seen = 0;
    if (thread_adds(seen)) ++added;
  }
  bool thread_adds(int& seen) { return value.compare_exchange_weak(seen, seen + 1); }
  void finish() {
    if (added != 1) the_scheduler.fail("none or both");
  }
  scheduled_atomic<int> value = 0;
  int added = 0;
};

BOOST_AUTO_TEST_CASE(a_weak_exchange_fails_for_no_reason_where_it_may) {
  expect_right<weak>("weak exchanges that don't fail", 2, {bounds::any}, 2);
  expect_wrong<weak>("weak exchanges that fail", 2, {bounds::any, 2});
}

}  // namespace

// The scheduler itself: it tries every order, each once, and finds what it is there to find; and its memory model.
#include <boost/test/unit_test.hpp>

#include <array>
#include <mutex>
#include <set>
#include <string>

#include "tarn/test/schedule/explore.h"
#include "tarn/test/schedule/memory_model.h"
#include "tarn/test/schedule/scheduled.h"
#include "tarn/test/schedule/scheduler.h"
#include "tarn/test/support/check.h"

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

// ---- the memory model: it allows what C++ allows of the orders that tarn uses, and nothing else -----------------------------

constexpr auto relaxed = tarn::detail::memory_order_relaxed;
constexpr auto acquire = tarn::detail::memory_order_acquire;
constexpr auto release = tarn::detail::memory_order_release;
constexpr bounds everything{bounds::any, 0, 4};

std::set<std::string> outcomes;

/// Two threads, or three; what they loaded is noted in the order of the threads.
struct litmus {
  void note(unsigned thread, int value) { loaded[thread] += static_cast<char>('0' + value); }
  void finish() { outcomes.insert(loaded[0] + "|" + loaded[1] + "|" + loaded[2]); }

  scheduled_atomic<int> x = 0;
  scheduled_atomic<int> y = 0;
  // not std::string: the threads of a failed schedule never end
  struct text {
    char letters[4] = {};
    unsigned size = 0;
    void operator+=(char c) { letters[size++] = c; }
    friend std::string operator+(const text& t, const char* more) { return t.letters + std::string(more); }
    friend std::string operator+(const std::string& s, const text& t) { return s + t.letters; }
  } loaded[3];
};

template <class World>
std::set<std::string> outcomes_of(unsigned threads, called_from = {}) {
  outcomes.clear();
  const exploration e = explore<World>(threads, everything);
  BOOST_TEST(e.failure == "");
  return outcomes;
}

template <tarn::detail::memory_order Store, tarn::detail::memory_order Load>
struct message : litmus {
  void run(unsigned thread) {
    if (thread == 0) {
      x.store(1, relaxed);
      y.store(1, Store);
    } else {
      note(1, y.load(Load));
      note(1, x.load(relaxed));
    }
  }
};

BOOST_AUTO_TEST_CASE(a_message_is_complete_by_release_and_acquire) {
  const std::set<std::string> complete{"|00|", "|01|", "|11|"};
  const std::set<std::string> torn{"|00|", "|01|", "|10|", "|11|"};
  BOOST_TEST((outcomes_of<message<release, acquire>>(2) == complete));
  BOOST_TEST((outcomes_of<message<relaxed, acquire>>(2) == torn));
  BOOST_TEST((outcomes_of<message<release, relaxed>>(2) == torn));
  BOOST_TEST((explore<message<relaxed, relaxed>>(2, {bounds::any}).failure == ""));
}

/// Each stores and loads what the other stored: both may load what was there before.
struct store_buffer : litmus {
  void run(unsigned thread) {
    (thread == 0 ? x : y).store(1, release);
    note(thread, (thread == 0 ? y : x).load(acquire));
  }
};
/// One atomic goes forward for whoever looks twice.
struct coherence : litmus {
  void run(unsigned thread) {
    if (thread == 0) {
      x.store(1, relaxed);
      x.store(2, relaxed);
    } else {
      note(1, x.load(relaxed));
      note(1, x.load(relaxed));
    }
  }
};
/// What a thread saw is not undone for one that it tells.
struct told : litmus {
  void run(unsigned thread) {
    if (thread == 0) {
      x.store(1, relaxed);
    } else if (thread == 1) {
      note(1, x.load(relaxed));
      y.store(1, release);
    } else {
      note(2, y.load(acquire));
      note(2, x.load(relaxed));
    }
  }
};

BOOST_AUTO_TEST_CASE(loads_may_be_stale_but_never_go_back) {
  BOOST_TEST((outcomes_of<store_buffer>(2) == std::set<std::string>{"0|0|", "0|1|", "1|0|", "1|1|"}));
  BOOST_TEST((outcomes_of<coherence>(2) == std::set<std::string>{"|00|", "|01|", "|02|", "|11|", "|12|", "|22|"}));
  const std::set<std::string> seen = outcomes_of<told>(3);
  BOOST_TEST(seen.contains("|1|00"));
  BOOST_TEST(seen.contains("|0|10"));
  BOOST_TEST(!seen.contains("|1|10"));
}

/// A third thread adds in between, without an order of its own, or stores.
template <bool Adds>
struct passed_on : litmus {
  void run(unsigned thread) {
    if (thread == 0) {
      x.store(1, relaxed);
      y.store(1, release);
    } else if (thread == 1) {
      if (Adds) y.fetch_add(1, relaxed);
      else if (y.load(relaxed) == 1) y.store(2, relaxed);
    } else {
      note(2, y.load(acquire));
      note(2, x.load(relaxed));
    }
  }
};

BOOST_AUTO_TEST_CASE(a_release_sequence_goes_on_by_exchanges_only) {
  BOOST_TEST(!outcomes_of<passed_on<true>>(3).contains("||20"));
  BOOST_TEST(outcomes_of<passed_on<false>>(3).contains("||20"));
}

}  // namespace

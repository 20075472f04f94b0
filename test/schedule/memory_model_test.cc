// The memory model: it allows what C++ allows of the orders that tarn uses, and nothing else.
#include <boost/test/unit_test.hpp>

#include <set>
#include <string>

#include "tarn/test/schedule/explore.h"
#include "tarn/test/schedule/memory_model.h"
#include "tarn/test/schedule/scheduled.h"
#include "tarn/test/schedule/scheduler.h"
#include "tarn/test/support/check.h"

namespace {

using namespace tarn::test;

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

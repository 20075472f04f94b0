// spin_mutex, shared_cell and fork_list, under every order that few preemptions make: one thread at a time holds a mutex, no
// change of a number is lost, and at a fork nobody is within a pool and nobody waits for ever.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdint>
#include <mutex>
#include <new>
#include <type_traits>

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

/// Two pools. 0 and 1: one of them grows; 2: pool 0 grows, and asks pool 1 for memory; b: a block of pool 1; x: pool 0 ends;
/// f: a fork.
template <class Types>
class fork_world {
  using member = typename Types::member;
  using forks = std::remove_reference_t<decltype(Types::forks())>;

 public:
  explicit fork_world(const words& script, const char* before) : script_(script) {
    ::new (static_cast<void*>(&Types::forks())) forks;
    the_scheduler.pretend(0);
    follow(before);
    the_scheduler.pretend(scheduler::nobody);
  }
  void run(unsigned thread) { follow(script_[thread]); }
  void finish() {}

 private:
  struct pool : member {
    scheduled_mutex growth;
    scheduled_mutex hot;
    watched<unsigned> grown = 0;
    watched<unsigned> blocks = 0;
    unsigned within = 0;

    static bool act(member& m, typename member::action what) noexcept {
      return Types::act(static_cast<pool&>(m).growth, static_cast<pool&>(m).hot, what);
    }
  };

  void follow(const char* op) {
    for (; *op != '\0'; ++op) {
      if (*op == 'f') fork();
      else if (*op == 'x') pools_[0].leave();
      else if (*op == 'b') take(pools_[1]);
      else grow(pools_[*op == '1'], *op == '2');
    }
  }
  void grow(pool& p, bool asks) {
    p.enter(pool::act);
    const std::lock_guard growing(p.growth);
    ++p.within;
    ++p.grown;
    if (asks) grow(pools_[1], false);
    take(p);
    --p.within;
  }
  static void take(pool& p) {
    const std::lock_guard lock(p.hot);
    ++p.within;
    ++p.blocks;
    --p.within;
  }
  void fork() {
    Types::forks().take_all();
    for (pool& p : pools_) {
      if (p.within != 0) the_scheduler.fail("a fork while a pool is half changed");
      p.blocks = 0;
    }
    the_scheduler.point();
    Types::forks().leave_all();
  }

  const words& script_;
  std::array<pool, 2> pools_;
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

BOOST_AUTO_TEST_CASE(a_fork_finds_nobody_within_a_pool) {
  const bounds limits{3};
  expect_right<fork_world<right>>("fork: both pools begin", 2, limits, 900, words{"f", "01"}, "");
  expect_right<fork_world<right>>("fork: two begin one pool", 3, {2}, 2'200, words{"f", "0", "0"}, "");
  expect_right<fork_world<right>>("fork: one pool asks the other", 2, limits, 6'400, words{"ff", "22"}, "01");
  expect_right<fork_world<right>>("fork: one pool asks the other, which is older", 2, limits, 4'700, words{"ff", "22"}, "10");
  expect_right<fork_world<right>>("fork: the other begins when it is asked", 2, limits, 1'300, words{"f", "2"}, "0");
  expect_right<fork_world<right>>("fork: blocks are taken", 3, {2}, 1'900, words{"f", "b0", "bb"}, "01");
  expect_right<fork_world<right>>("fork: a pool ends", 3, {2}, 1'200, words{"f", "x", "1"}, "01");
  expect_right<fork_world<right>>("fork: a pool ends where the other begins", 3, {2}, 1'700, words{"f", "x", "1"}, "0");
}

template <class Types>
void expect_found(const char* name, const words& script) {
  expect_wrong<mutex_world<Types>>(name, 2, {2}, script);
}
template <class Types>
void expect_fork(const char* name, unsigned threads, const words& script, const char* before) {
  expect_wrong<fork_world<Types>>(name, threads, {2}, script, before);
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

BOOST_AUTO_TEST_CASE(mistakes_with_forks_are_found) {
  expect_fork<variants::entered_twice::types>("a pool entered twice", 3, {"f", "0", "0"}, "");
  expect_fork<variants::waits_with_the_list::types>("waits and keeps the list", 2, {"f", "2"}, "0");
  expect_fork<variants::taken_are_kept::types>("waits and keeps pools", 2, {"f", "2"}, "01");
  expect_fork<variants::first_is_kept::types>("waits and keeps a pool's first mutex", 2, {"f", "bb"}, "01");
  expect_fork<variants::second_not_taken::types>("a pool's second mutex isn't taken", 2, {"f", "bb"}, "01");
  expect_fork<variants::list_not_held::types>("the list isn't held", 2, {"f", "01"}, "");
  expect_fork<variants::left_without_the_list::types>("left without the list", 2, {"f", "x"}, "01");
}

}  // namespace

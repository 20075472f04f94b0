// Runs threads of its own, one at a time, and tries every order in which their atomic operations can follow one another: depth
// first, each schedule from the start, with at most so many preemptions (context bounding: Musuvathi and Qadeer, 2007). Where
// a thread ends or waits for a mutex, all others are tried, and that counts as none.
//
// Accesses that aren't atomic are no switch points; they belong to the atomic operation before them. memory_model.h says which
// of them are in no order.
#ifndef TARN_TEST_SCHEDULE_SCHEDULER_H_
#define TARN_TEST_SCHEDULE_SCHEDULER_H_

#include <setjmp.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "tarn/test/schedule/choices.h"
#include "tarn/test/schedule/context.h"

namespace tarn::test {

/// How far schedules go.
struct bounds {
  static constexpr unsigned any = ~0u;
  unsigned preemptions = 2;
  unsigned weak_failures = 0;  // compare-exchanges of the weak kind that fail though they needn't
  unsigned stale_loads = 0;    // loads that return what was overwritten
};

class scheduler {
 public:
  static constexpr unsigned most = 6;
  static constexpr unsigned nobody = ~0u;
  using body = void (*)(void* world, unsigned thread);

  // ---- for whoever explores ------------------------------------------------------------------------------------------

  void set_up(unsigned threads, const bounds& b) noexcept {
    threads_ = threads;
    bounds_ = b;
    choices_.clear();
  }
  /// Calls body(world, thread) on each thread, in the next order, or in that of a schedule.
  void run(void* world, body run_thread, const std::string* schedule = nullptr) {
    world_ = world;
    body_ = run_thread;
    choices_.begin(schedule);
    preemptions_left_ = bounds_.preemptions;
    weak_failures_left_ = bounds_.weak_failures;
    stale_loads_left_ = bounds_.stale_loads;
    steps_ = 0;
    failure_ = nullptr;
    waits_for_ = {};
    changes_ = 0;
    own_changes_ = changes_seen_ = {};
    runnable_ = (1u << threads_) - 1;
    started_ = 0;
    for (unsigned i = 0; i != threads_; ++i) contexts_[i].start(stacks_[i], &scheduler::entry);
    active_ = true;
    current_ = pick(runnable_, 0);
    context::change(home_, contexts_[current_]);
    active_ = false;
    current_ = nobody;
    if (!choices_.followed_to_the_end()) leave_followed();
    all_steps_ += steps_;
  }
  /// Whether a schedule is left that run() hasn't tried.
  bool advance() noexcept { return choices_.advance(); }
  /// Calls what looks at the end of a schedule. It is left at once where something is wrong.
  template <class Look>
  void finish(Look look) {
    finishes_ = true;
    if (sigsetjmp(end_, 0) == 0) look();
    finishes_ = false;
  }
  void record(std::string* schedule) noexcept { choices_.record(schedule); }
  const char* failure() const noexcept { return failure_; }
  std::uint64_t all_steps() const noexcept { return all_steps_; }

  /// While nothing is scheduled: whose operations these are.
  void pretend(unsigned thread) noexcept { current_ = thread; }

  // ---- for the threads -----------------------------------------------------------------------------------------------

  bool active() const noexcept { return active_; }
  unsigned current() const noexcept { return current_; }

  /// Before each atomic operation.
  void point() noexcept {
    if (!active_) return;
    if (++steps_ == most_steps) fail("the threads go on for ever");
    if (const unsigned me = 1u << current_; (started_ & me) == 0) {  // nothing that others see has happened in it
      started_ |= me;
      return;
    }
    const unsigned others = preemptions_left_ != 0 || choices_.follows() ? runnable_ & ~(1u << current_) : 0;
    const unsigned next = pick(others | 1u << current_, current_);
    if (next == current_) return;
    --preemptions_left_;
    go_to(next);
  }
  /// A choice of the thread's own: every number below `count` is tried.
  unsigned any_of(unsigned count) noexcept {
    if (count < 2 || !active_) return 0;
    const unsigned n = choices_.choose('a', count);
    if (n == count) leave_followed();
    return n;
  }
  /// Whether a weak compare-exchange fails here for no reason.
  bool fails_for_no_reason() noexcept { return active_ && rarely('y', 2, weak_failures_left_) == 1; }
  /// Which of so many values a load returns: 0 is the newest.
  unsigned stale(unsigned ages) noexcept { return ages < 2 ? 0 : rarely('A', ages, stale_loads_left_); }

  /// The thread goes round a loop: it waits where nothing that others do has changed since it came here the last time.
  void yield() noexcept {
    if (!active_) return;
    const std::uint64_t by_others = changes_ - own_changes_[current_];
    if (std::exchange(changes_seen_[current_], by_others) == by_others) wait_for(&changes_);
    else point();
  }
  /// An atomic or a mutex is changed.
  void changed() noexcept {
    if (!active_) return;
    ++changes_;
    ++own_changes_[current_];
    wake(&changes_);
  }
  void wait_for(const void* mutex) noexcept {
    waits_for_[current_] = mutex;
    runnable_ &= ~(1u << current_);
    leave("deadlock");
  }
  void wake(const void* mutex) noexcept {
    for (unsigned i = 0; i != threads_; ++i)
      if (waits_for_[i] == mutex) {
        waits_for_[i] = nullptr;
        runnable_ |= 1u << i;
      }
  }
  /// The child of a fork: the other threads are gone.
  void go_on_alone() noexcept {
    runnable_ = 1u << current_;
    waits_for_ = {};
  }
  /// Ends the schedule, whose threads stay where they are, or finish(). Else it goes on. The text is a literal.
  void fail(const char* what) noexcept {
    if (failure_ == nullptr) failure_ = what;
    if (finishes_) siglongjmp(end_, 1);
    if (!active_) return;
    active_ = false;
    context::change(contexts_[current_], home_);
  }

 private:
  static constexpr std::uint64_t most_steps = 10'000;
  static void entry() noexcept;

  void ended() noexcept {
    runnable_ &= ~(1u << current_);
    for (unsigned i = 0; i != threads_; ++i)
      if (waits_for_[i] != nullptr) return leave("deadlock: a mutex stays locked");
    if (runnable_ == 0) context::change(contexts_[current_], home_);
    leave("");
  }
  void leave(const char* deadlock) noexcept {
    if (runnable_ == 0) fail(deadlock);
    go_to(pick(runnable_, static_cast<unsigned>(std::countr_zero(runnable_))));
  }
  void go_to(unsigned next) noexcept {
    const unsigned last = current_;
    current_ = next;
    context::change(contexts_[last], contexts_[next]);
  }

  void leave_followed() noexcept {
    choices_.follow_no_more();
    fail("the schedule is of other threads");
  }
  /// One of a set of threads. `first` is tried first.
  unsigned pick(unsigned set, unsigned first) noexcept {
    unsigned next = first;
    if (choices_.follows()) {
      next = choices_.next_followed('0', threads_);
      if (next == threads_ || (set & 1u << next) == 0) leave_followed();
    } else if (set != (1u << first)) {
      unsigned n = choices_.next_tried(static_cast<unsigned>(std::popcount(set)));
      if (n != 0) {
        set &= ~(1u << first);
        while (--n != 0) set &= set - 1;
        next = static_cast<unsigned>(std::countr_zero(set));
      }
    }
    choices_.note('0', next);
    return next;
  }
  /// 0, or another number so many times in a schedule.
  unsigned rarely(char first, unsigned count, unsigned& times_left) noexcept {
    if (times_left == 0 && !choices_.follows()) return 0;
    const unsigned n = choices_.choose(first, count);
    if (n == 0 || n == count) return 0;  // a followed schedule notes no 0 where it had none left
    --times_left;
    return n;
  }

  bool active_ = false;
  bool finishes_ = false;
  sigjmp_buf end_;
  unsigned current_ = nobody;
  unsigned runnable_ = 0;
  unsigned started_ = 0;  // those that came to their first switch point
  unsigned threads_ = 0;
  unsigned preemptions_left_ = 0;
  unsigned weak_failures_left_ = 0;
  unsigned stale_loads_left_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t all_steps_ = 0;
  void* world_ = nullptr;
  choices choices_;
  const char* failure_ = nullptr;
  body body_ = nullptr;
  bounds bounds_;
  std::array<const void*, most> waits_for_ = {};
  std::uint64_t changes_ = 0;
  std::array<std::uint64_t, most> own_changes_ = {};
  std::array<std::uint64_t, most> changes_seen_ = {};
  context home_;
  std::array<context, most> contexts_;
  std::array<stack_memory, most> stacks_;
};

inline scheduler the_scheduler;

inline void scheduler::entry() noexcept {
  the_scheduler.body_(the_scheduler.world_, the_scheduler.current_);
  the_scheduler.ended();
}

}  // namespace tarn::test

#endif  // TARN_TEST_SCHEDULE_SCHEDULER_H_

// Explores a world: an object that is made anew for each schedule.
//
//   World(arguments...)     nothing is scheduled yet
//   run(thread)             on each thread
//   finish()                all threads have ended
//
// Any of them says the_scheduler.fail(...) where something is wrong.
#ifndef TARN_TEST_SCHEDULE_EXPLORE_H_
#define TARN_TEST_SCHEDULE_EXPLORE_H_

#include <boost/test/unit_test.hpp>

#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>
#include <string>
#include <type_traits>

#include "tarn/test/schedule/memory_model.h"
#include "tarn/test/schedule/scheduled.h"
#include "tarn/test/schedule/scheduler.h"

namespace tarn::test {

inline bool nightly() { return std::getenv("TARN_NIGHTLY") != nullptr; }

struct exploration {
  std::uint64_t schedules = 0;
  std::uint64_t steps = 0;
  double seconds = 0;    // of processor time
  std::string failure;   // empty: nothing is wrong with any schedule
  std::string schedule;  // the first that failed
};

/// A thread that reads or writes where nothing is ends its schedule, and not the program.
class crash_watch {
 public:
  crash_watch() {
    stack_t stack = {};
    stack.ss_sp = stack_.data();
    stack.ss_size = stack_.size();
    sigaltstack(&stack, &old_stack_);
    struct sigaction action = {};
    action.sa_handler = [](int) {
      the_scheduler.fail("a crash: an address where nothing is");
      std::abort();  // in no schedule
    };
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    sigaction(SIGSEGV, &action, &old_action_);
  }
  ~crash_watch() {
    sigaction(SIGSEGV, &old_action_, nullptr);
    sigaltstack(&old_stack_, nullptr);
  }
  crash_watch(const crash_watch&) = delete;
  crash_watch& operator=(const crash_watch&) = delete;

 private:
  static inline stack_memory stack_;
  stack_t old_stack_ = {};
  struct sigaction old_action_ = {};
};

template <class World, class... Arguments>
std::string run_schedule(const std::string* schedule, const Arguments&... arguments) {
  static_assert(std::is_trivially_destructible_v<World>, "the threads of a failed schedule never end");
  alignas(World) static std::byte place[sizeof(World)];
  still = {};
  World* const world = ::new (static_cast<void*>(place)) World(arguments...);
  the_memory.renew();
  the_scheduler.run(world, [](void* w, unsigned thread) { static_cast<World*>(w)->run(thread); }, schedule);
  if (the_scheduler.failure() == nullptr) the_scheduler.finish([world] { world->finish(); });
  return the_scheduler.failure() != nullptr ? the_scheduler.failure() : "";
}

/// Tries every schedule, or those until one fails.
template <class World, class... Arguments>
exploration explore(unsigned threads, const bounds& limits, const Arguments&... arguments) {
  const crash_watch watch;
  const std::clock_t start = std::clock();
  const std::uint64_t steps = the_scheduler.all_steps();
  exploration e;
  the_scheduler.set_up(threads, limits);
  do {
    e.failure = run_schedule<World>(nullptr, arguments...);
    ++e.schedules;
  } while (e.failure.empty() && the_scheduler.advance());
  e.steps = the_scheduler.all_steps() - steps;
  e.seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  if (!e.failure.empty()) {
    the_scheduler.record(&e.schedule);
    run_schedule<World>(nullptr, arguments...);
    the_scheduler.record(nullptr);
  }
  return e;
}

/// Runs one schedule again. Returns what is wrong with it.
template <class World, class... Arguments>
std::string replay(unsigned threads, const std::string& schedule, const Arguments&... arguments) {
  const crash_watch watch;
  the_scheduler.set_up(threads, {});
  return run_schedule<World>(&schedule, arguments...);
}

// ---- what test cases say ---------------------------------------------------------------------------------------------

inline void print(const std::string& name, const bounds& limits, const exploration& e) {
  std::string bound = limits.preemptions == bounds::any ? "all" : "<= " + std::to_string(limits.preemptions) + " preemptions";
  if (limits.weak_failures != 0) bound += ", <= " + std::to_string(limits.weak_failures) + " weak failures";
  if (limits.stale_loads != 0) bound += ", <= " + std::to_string(limits.stale_loads) + " stale loads";
  std::printf("%-64s %9llu schedules, %3.0f steps each, %s: %s, %.2f s\n", name.c_str(),
              static_cast<unsigned long long>(e.schedules), static_cast<double>(e.steps) / static_cast<double>(e.schedules),
              bound.c_str(), e.failure.empty() ? "nothing found" : e.failure.c_str(), e.seconds);
  if (!e.failure.empty()) std::printf("    by %s\n", e.schedule.c_str());
}

/// Nothing is wrong with any schedule, and there are at least so many.
template <class World, class... Arguments>
void expect_right(const std::string& name, unsigned threads, const bounds& limits, std::uint64_t at_least,
                  const Arguments&... arguments) {
  const exploration e = explore<World>(threads, limits, arguments...);
  print(name, limits, e);
  BOOST_TEST(e.failure == "", name << ": " << e.failure << ", by the schedule " << e.schedule);
  BOOST_TEST(e.schedules >= at_least, name << ": only " << e.schedules << " schedules");
}

/// Something is wrong with one, and again when it is run again.
template <class World, class... Arguments>
void expect_wrong(const std::string& name, unsigned threads, const bounds& limits, const Arguments&... arguments) {
  const exploration e = explore<World>(threads, limits, arguments...);
  print("mistake: " + name, limits, e);
  BOOST_TEST(e.failure != "", name << ": nothing was found in " << e.schedules << " schedules");
  if (e.failure.empty()) return;
  BOOST_TEST(replay<World>(threads, e.schedule, arguments...) == e.failure);
  const auto& here = boost::unit_test::framework::current_test_case();
  const std::string file(here.p_file_name.begin(), here.p_file_name.end());
  const std::size_t start = file.rfind('/') + 1;
  std::printf("killed  schedule: %s  by %s\n", name.c_str(), file.substr(start, file.rfind('.') - start).c_str());
}

}  // namespace tarn::test

#endif  // TARN_TEST_SCHEDULE_EXPLORE_H_

// fork_gate, fork_list and store_mutex, under every order that few preemptions make: at a fork nobody is within a pool, nobody
// waits for ever, and a child can use everything.
#include <boost/test/unit_test.hpp>

#include <array>
#include <mutex>
#include <new>

#include "tarn/test/schedule/explore.h"
#include "tarn/test/schedule/forks_variants.h"
#include "tarn/test/schedule/memory_model.h"
#include "tarn/test/schedule/process.h"
#include "tarn/test/schedule/scheduled.h"
#include "tarn/test/schedule/scheduler.h"

namespace {

using namespace tarn::test;
namespace variants = tarn::detail::variants;
using right = variants::as_it_is::types;

using words = std::array<const char*, 4>;

/// Two pools, and two mutexes of the program.
///
///   0 1   pool 0 or 1 grows                        b   a block of pool 1
///   2     pool 0 grows, and its store is pool 1    l   a block of pool 1, under the program's mutex
///   n     pool 0 grows, inside another stay        x   pool 0 ends
///   s     pool 1 grows; its store takes the program's mutex
///   m     the program's mutex is taken, and under it pool 0 grows
///   g     a stay with the group's mutex, and a store is called
///   h     a stay with the group's mutex
///   f     a fork                                   p   a fork, with a handler that takes the program's mutex
///   F     a fork inside the store of pool 0        i   a fork inside a stay
///   P     a fork, with a handler that takes the program's mutex when the fork holds everything
template <class Types>
class fork_world {
 public:
  fork_world(const words& script, const char* before) : script_(script) {
    ::new (static_cast<void*>(&Types::forks())) typename Types::list{Types::of_thread};
    ::new (static_cast<void*>(&Types::own())) typename Types::library{.install = Types::install};
    ::new (static_cast<void*>(&Types::forkers())) scheduled_mutex;
    Types::positions().fill({});
    the_scheduler.pretend(0);
    Types::install();
    follow(before);
    the_scheduler.pretend(scheduler::nobody);
  }
  void run(unsigned thread) { follow(script_[thread]); }
  void finish() {
    if (Types::forks().gate.word_.peek() != 0) the_scheduler.fail("somebody is still counted at the gate");
    unsigned members = 0;
    for (const typename Types::member* m = Types::forks().first_; m != nullptr; m = m->next_)
      if (++members > pools_.size()) return the_scheduler.fail("a pool is in the list twice");
  }

 private:
  struct pool : Types::member {
    using step = typename Types::step;

    typename Types::growth_mutex growth;
    scheduled_mutex hot;
    watched<unsigned> grown = 0;   // under growth
    watched<unsigned> blocks = 0;  // under hot
    unsigned within = 0;           // threads that change it
    unsigned grower = scheduler::nobody;

    static void act(typename Types::member& m, step what) noexcept {
      auto& p = static_cast<pool&>(m);
      Types::act(p.hot, what);
      if (what == step::renew) p.growth.renew_in_child();
    }
  };

  void follow(const char* op) {
    for (; *op != '\0'; ++op) {
      switch (*op) {
        case 'b': take(pools_[1]); break;
        case 'l': {
          const std::lock_guard lock(programs_);
          take(pools_[1]);
          break;
        }
        case 'x': pools_[0].leave(); break;
        case 'm': {
          const std::lock_guard lock(programs_);
          grow(pools_[0], '0');
          break;
        }
        case 'n': {
          const typename Types::stay inside;
          grow(pools_[0], '0');
          break;
        }
        case 'g':
        case 'h': {
          const typename Types::stay inside;
          const std::lock_guard lock(groups_);
          if (*op == 'g') const typename Types::call at_store;
          break;
        }
        case 'f': fork(); break;
        case 'p': {
          programs_.lock();
          fork();
          programs_.unlock();
          break;
        }
        case 'P': {
          Types::before();
          programs_.lock();
          Types::after_in_parent();
          programs_.unlock();
          break;
        }
        case 'i': {
          const typename Types::stay inside;
          fork();
          break;
        }
        default: grow(pools_[*op == '1' || *op == 's'], *op);
      }
    }
  }
  void grow(pool& p, char op) {
    p.admits(pool::act);
    const typename Types::growth_mutex::guard growing(p.growth);
    p.grower = the_scheduler.current();
    change(p, p.grown);
    {
      const typename Types::call at_store;
      if (op == '2') grow(pools_[1], '1');
      if (op == 'F') fork();
      if (op == 's') const std::lock_guard lock(programs_);
    }
    take(p);
    change(p, p.grown);
    p.grower = scheduler::nobody;
  }
  static void take(pool& p) {
    const std::lock_guard lock(p.admits(pool::act) ? p.hot : Types::forkers());
    change(p, p.blocks);
  }
  static void change(pool& p, watched<unsigned>& what) {
    ++p.within;
    the_scheduler.point();
    ++what;
    --p.within;
  }

  void fork() {
    Types::before();
    if (is_forking_) the_scheduler.fail("two forks at once");
    is_forking_ = true;
    look();
    the_scheduler.point();
    look();
    take(pools_[1]);  // by a handler of the program
    const bool is_child = the_scheduler.any_of(2) == 1;
    is_forking_ = false;
    if (!is_child) return Types::after_in_parent();
    the_scheduler.go_on_alone();
    Types::after_in_child();
    use_all();
  }
  /// What a child would copy.
  void look() {
    for (pool& p : pools_) {
      if (p.within != 0) the_scheduler.fail("a fork while a pool is half changed");
      static_cast<void>(p.grown + p.blocks);
    }
  }
  void use_all() {
    if (!programs_.is_mine()) ::new (static_cast<void*>(&programs_)) scheduled_mutex;  // by the program's own handler
    ::new (static_cast<void*>(&groups_)) scheduled_mutex;
    for (pool& p : pools_) {
      take(p);
      if (p.grower != the_scheduler.current()) grow(p, '0');
    }
    Types::before();
    Types::after_in_parent();
  }

  const words& script_;
  std::array<pool, 2> pools_;
  scheduled_mutex programs_;
  scheduled_mutex groups_;
  bool is_forking_ = false;
};

void expect(const char* name, unsigned threads, const bounds& limits, std::uint64_t at_least, const words& script,
            const char* before = "01") {
  expect_right<fork_world<right>>(name, threads, limits, at_least, script, before);
}

BOOST_AUTO_TEST_CASE(a_fork_finds_nobody_within_a_pool) {
  const bounds limits{2};
  expect("fork: two pools begin", 2, {3}, 35'000, {"f", "01"}, "");
  expect("fork: two threads begin one pool", 3, {1}, 700, {"f", "0", "0"}, "");
  expect("fork: a pool grows", 2, {3}, 17'000, {"f", "00"});
  expect("fork: a pool grows, with stale loads", 2, {2, 1, 1}, 10'000, {"f", "0"});
  expect("fork: two threads grow a pool", 3, limits, 28'000, {"f", "0", "0"});
  expect("fork: a pool's store is another pool", 3, limits, 50'000, {"f", "2", "1"});
  expect("fork: a pool grows inside another stay", 2, {3}, 6'400, {"f", "n"});
  expect("fork: blocks are taken", 3, limits, 18'000, {"f", "b0", "bb"});
  expect("fork: a pool ends", 3, limits, 14'000, {"f", "x", "1"});
  expect("fork: a pool ends where the other begins", 3, limits, 20'000, {"f", "x", "1"}, "0");
}

BOOST_AUTO_TEST_CASE(a_fork_passes_who_waits_for_the_program) {
  const bounds limits{2};
  expect("fork: a store waits for who grows a pool", 3, limits, 30'000, {"f", "s", "m"});
  expect("fork: a store waits, and so does who grows its pool", 4, {1}, 9'000, {"f", "s", "1", "m"});
  expect("fork: a store waits for who takes a block", 3, limits, 15'000, {"f", "s", "l"});
  expect("fork: the program's handler takes its mutex", 3, limits, 25'000, {"p", "s", "m"});
  expect("fork: a thread waits for one that is at its store", 3, limits, 9'700, {"f", "g", "h"});
}

BOOST_AUTO_TEST_CASE(forks_of_several_threads) {
  const bounds limits{2};
  expect("fork: two fork", 3, limits, 47'000, {"f", "f", "0"});
  expect("fork: inside a store", 3, limits, 36'000, {"F", "0", "1"});
  expect("fork: inside a store, and another", 2, {3}, 24'000, {"F", "f"});
  expect("fork: inside a stay, and another", 2, {3}, 8'300, {"i", "f"});
  expect("fork: inside stays", 3, limits, 72'000, {"i", "i", "0"});
}

template <class Types>
void found(const char* name, unsigned threads, const words& script, const char* before = "01") {
  expect_wrong<fork_world<Types>>(name, threads, {2}, script, before);
}

BOOST_AUTO_TEST_CASE(mistakes_at_the_gate_are_found) {
  found<variants::closed_after_leaves::types>("the gate is closed after the leaves are taken", 2, {"f", "0"});
  found<variants::comes_back_at_once::types>("who comes back doesn't wait", 3, {"f", "s", "m"});
  found<variants::never_passes::types>("a fork waits for stores for ever", 3, {"f", "s", "m"});
  found<variants::passes_too_early::types>("a fork passes some and waits for others", 3, {"f", "g", "h"});
  found<variants::own_stay_forgotten::types>("the forker's own stay isn't counted", 1, {"F"});
  found<variants::own_call_forgotten::types>("the forker's own call isn't counted", 2, {"F", "1"});
  found<variants::child_forgets_stay::types>("the child's own stay isn't counted", 1, {"F"});
  found<variants::leaves_quietly::types>("a fork isn't told that a thread leaves", 2, {"f", "0"});
  found<variants::goes_to_store_quietly::types>("a fork isn't told that a thread is at a store", 3, {"f", "s", "m"});
  found<variants::opened_quietly::types>("nobody is told that the gate is open", 2, {"f", "0"});
  found<variants::left_relaxed::types>("left relaxed", 2, {"f", "0"});
  found<variants::gone_to_store_relaxed::types>("gone to a store relaxed", 3, {"f", "s", "m"});
  found<variants::closed_relaxed::types>("closed relaxed", 2, {"f", "0"});
}

BOOST_AUTO_TEST_CASE(mistakes_with_stays_and_calls_are_found) {
  found<variants::grows_outside::types>("a pool grows outside the gate", 2, {"f", "0"});
  found<variants::depth_forgotten::types>("an inner stay enters as the outermost", 2, {"f", "n"});
  found<variants::inner_stay_at_store::types>("inside an inner stay, a thread is at a store", 2, {"f", "2"});
  found<variants::inner_stay_keeps_back::types>("after an inner stay, a thread isn't at its store", 2, {"f", "2"});
  found<variants::store_call_untold::types>("calls of stores aren't told", 3, {"f", "s", "m"});
  found<variants::waits_inside::types>("who waits for a growth guard isn't at a store", 4, {"f", "s", "1", "m"});
  found<variants::growth_not_renewed::types>("growth guards aren't renewed", 2, {"f", "0"});
  found<variants::unnoted_not_renewed::types>("only growth guards with a holder are renewed", 3, {"f", "0", "0"});
}

BOOST_AUTO_TEST_CASE(mistakes_with_the_list_are_found) {
  found<variants::entered_twice::types>("a pool entered twice", 2, {"b", "b"}, "");
  found<variants::list_not_held::types>("the list isn't held", 2, {"f", "b"}, "");
  found<variants::left_without_the_list::types>("left without the list", 2, {"f", "x"});
  found<variants::leaves_not_taken::types>("leaves aren't taken", 2, {"f", "b"});
  found<variants::leaves_not_renewed::types>("leaves aren't renewed", 1, {"f"});
  found<variants::list_not_renewed::types>("the list's mutex isn't renewed", 1, {"f"});
  found<variants::forking_not_renewed::types>("the fork's mutex isn't renewed", 1, {"f"});
  found<variants::two_forks::types>("two forks at once", 3, {"f", "f", "0"});
  found<variants::forks_inside::types>("a fork inside a stay can't be passed by another", 2, {"i", "f"});
  found<right>("the program's handler takes its mutex too late", 2, {"P", "m"});
  found<variants::forker_waits_for_itself::types>("a handler waits for its own thread's fork", 1, {"f"});
  found<variants::ended_quietly::types>("nobody is told that a fork has ended", 2, {"f", "b"});
}

}  // namespace

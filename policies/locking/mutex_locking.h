// decides    every operation takes the pool's own mutex; growth takes a second one, so that other threads don't wait for the
//            store
// costs      a lock and an unlock for each operation: 2 ns a pair while the process has one thread, 9 ns with more, some 40 ns
//            when two threads contend (AMD EPYC)
// conflicts  none
// use when   several threads share a pool now and then
#ifndef TARN_POLICIES_LOCKING_MUTEX_LOCKING_H_
#define TARN_POLICIES_LOCKING_MUTEX_LOCKING_H_

#include <concepts>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/store_mutex.h"
#include "tarn/policies/locking/detail/direct_calls.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/locking/traits.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/held.h"
#include "tarn/policies/platform/system.h"

namespace tarn {

namespace detail {
template <class M>
concept basic_lockable = std::default_initializable<M> && requires(M& m) {
  m.lock();
  m.unlock();
};

/// Whether the target has what the mutex keeps apart.
template <class M>
inline constexpr bool locks_here = platform::system::has_threads;
template <class M>
  requires(!requires { M::keeps_threads_apart; })
inline constexpr bool locks_here<M> = true;

/// Holds a mutex as long as it lives: the mutex's own guard, if it has one.
template <class Mutex>
struct guard_of {
  using type = held<Mutex>;
};
template <class Mutex>
  requires std::constructible_from<typename Mutex::guard, Mutex&>
struct guard_of<Mutex> {
  using type = typename Mutex::guard;
};

/// The two mutexes of a pool.
template <class Mutex, class Member = fork_member>
class mutex_pair : Member {
  using Member::admits;
  using guard = typename guard_of<Mutex>::type;

 public:
  static constexpr bool can_try = try_lockable<Mutex>;
  static constexpr growth_again again = growth_again::told;

  TARN_STEP guard hot() const { return guard(self().admits(act) ? hot_ : mutex_of_forker<Mutex>); }
  typename store_mutex<Mutex>::guard growth() const {
    self().admits(act);
    return typename store_mutex<Mutex>::guard(growth_);
  }
  /// For work that isn't worth waiting for a store.
  typename store_mutex<Mutex>::guard try_growth() const
    requires try_lockable<Mutex>
  {
    self().admits(act);
    return typename store_mutex<Mutex>::guard(growth_, only_try());
  }
  /// Whether this thread holds growth().
  bool grows_here() const noexcept { return growth_.is_mine(); }
  void end() noexcept { Member::leave(); }

 private:
  TARN_STEP mutex_pair& self() const noexcept {
    static_cast<void>(&fork_handlers<Mutex>);  // instantiates it
    return const_cast<mutex_pair&>(*this);
  }
  static void act(fork_member& m, fork_step step) noexcept {
    auto& pair = static_cast<mutex_pair&>(m);
    detail::act_on_leaf(pair.hot_, step);
    if (step == fork_step::renew) pair.growth_.renew_in_child();
  }

  mutable Mutex hot_;
  mutable store_mutex<Mutex> growth_;
};
}  // namespace detail

/// \tparam Mutex  any default-constructible BasicLockable; if it has a type `guard`, that is used to lock it
template <class Mutex = mutex>
struct mutex_locking {
  using axis = tarn::axis::locking;
  static constexpr bool arguments_hold = detail::basic_lockable<Mutex> && detail::locks_here<Mutex>;
  struct complaint {
    static_assert(detail::basic_lockable<Mutex>,
                  "tarn: [L1] mutex_locking was given a type without lock() and unlock(), or without a default constructor; "
                  "name a mutex, as tarn::mutex");
    static_assert(!detail::basic_lockable<Mutex> || arguments_hold,
                  "tarn: [Y3] one of tarn's mutexes was named, but this target has no threads that it could keep apart, and it "
                  "keeps no interrupt out; write no_locking, interrupt_locking<> or a mutex of your own, or bring a platform "
                  "header (docs/platforms.md)");
  };
  static constexpr locking_traits traits{.can_wait = true, .can_try = detail::try_lockable<Mutex>};
  template <class T>
  using cell = T;  // hooks run under the mutex
  template <class Traits>
  using per_chunk = detail::no_column<axis>;
  template <class Traits>
  using state = detail::direct_calls<detail::mutex_pair<Mutex, detail::fork_member_in<Traits>>>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_MUTEX_LOCKING_H_

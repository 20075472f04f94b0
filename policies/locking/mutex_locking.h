// decides    every operation takes the pool's own mutex; growth takes a second one, so that other threads don't wait for the
//            store
// costs      a lock and an unlock for each operation: 2 ns a pair while the process has one thread, 9 ns with more, some 40 ns
//            when two threads contend (AMD EPYC)
// conflicts  none
// use when   several threads share a pool now and then
#ifndef TARN_POLICIES_LOCKING_MUTEX_LOCKING_H_
#define TARN_POLICIES_LOCKING_MUTEX_LOCKING_H_

#include <concepts>

#include "tarn/policies/detail/fork_list.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking/detail/direct_calls.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/locking/traits.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/held.h"

namespace tarn {

namespace detail {
template <class M>
concept basic_lockable = std::default_initializable<M> && requires(M& m) {
  m.lock();
  m.unlock();
};

template <class M>
concept try_lockable = requires(M& m) {
  { m.try_lock() } -> std::convertible_to<bool>;
};

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

/// The two mutexes of a pool, which a fork waits for.
template <class Mutex>
class mutex_pair : fork_member {
  using guard = typename guard_of<Mutex>::type;

 public:
  static constexpr bool can_try = try_lockable<Mutex>;

  TARN_STEP guard hot() const {
    self().enter(act);
    return guard(hot_);
  }
  guard growth() const {
    self().enter(act);
    return guard(growth_);
  }
  /// For work that isn't worth waiting for a store.
  tried<Mutex> try_growth() const
    requires try_lockable<Mutex>
  {
    self().enter(act);
    return tried<Mutex>(growth_);
  }
  void end() noexcept { leave(); }

 private:
  TARN_STEP mutex_pair& self() const noexcept { return const_cast<mutex_pair&>(*this); }
  static bool act(fork_member& m, action what) noexcept {
    auto& pair = static_cast<mutex_pair&>(m);
    return act_on_pair(pair.growth_, pair.hot_, what);
  }

  mutable Mutex hot_;
  mutable Mutex growth_;
};
}  // namespace detail

/// \tparam Mutex  any default-constructible BasicLockable; if it has a type `guard`, that is used to lock it
template <class Mutex = mutex>
struct mutex_locking {
  using axis = tarn::axis::locking;
  static constexpr bool arguments_hold = detail::basic_lockable<Mutex>;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [L1] mutex_locking was given a type without lock() and unlock(), or without a default constructor; "
                  "name a mutex, as tarn::mutex");
  };
  static constexpr locking_traits traits{.can_wait = true, .can_try = detail::try_lockable<Mutex>};
  template <class T>
  using cell = T;  // hooks run under the mutex
  template <class Traits>
  using per_chunk = detail::no_column<axis>;
  template <class Traits>
  using state = detail::direct_calls<detail::mutex_pair<Mutex>>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_MUTEX_LOCKING_H_

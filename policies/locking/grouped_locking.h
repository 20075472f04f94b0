// decides    the pool belongs to a group, which a tag identifies. Without a mutex, one thread owns the group and nothing is
//            locked. With a mutex, all pools of the group share a pair of them, which a group_guard can hold across many calls
// costs      nothing without a mutex; with one, the same as mutex_locking, or a check of a thread-local counter while the
//            guard is held
// conflicts  none
// use when   a thread or subsystem has its own pools; or many operations on many pools belong together
#ifndef TARN_POLICIES_LOCKING_GROUPED_LOCKING_H_
#define TARN_POLICIES_LOCKING_GROUPED_LOCKING_H_

#include <cstdint>
#include <type_traits>

#include "tarn/policies/detail/fork.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"

namespace tarn {

namespace detail {

// Order: relaxed. A pool without a lock: its owner sees its own number. For a thread that didn't receive the pool, any value is
// a report.
template <class Group>
TARN_ONE_IN_PROCESS inline constinit atomic_word<thread_number> group_owner = 0;

/// Whether group_mutexes::held can be thread-local.
template <class>
inline constexpr bool counts_holds = platform::system::has_thread_locals || !platform::system::has_threads;

/// A pool of a group that is at its store. There can be several at the same time, because one's store may be another pool with
/// the same mutex.
struct group_growth {
  const void* pool;
  const group_growth* outer;
};

/// The two mutexes of a group, how often the calling thread holds both through a group_guard, and whether any thread does.
template <class Group, class Mutex>
struct group_mutexes {
  static inline store_mutex<Mutex> growth;
  static inline Mutex hot;
  static inline constinit TARN_THREAD_LOCAL unsigned held = 0;
  static inline bool is_guarded = false;  // changed inside the gate, and not at a store
  static inline constinit fork_member member;
  static inline constinit const group_growth* innermost = nullptr;  // of the thread that holds `growth`

  TARN_STEP static bool admits() {
    static_cast<void>(&fork_handlers<Mutex>);  // instantiates it
    return member.admits(act);
  }
  /// A thread that forks while it holds both still holds them afterwards, in the child as well. If another thread holds them,
  /// it is at a store, where it changes no pool, so the fork doesn't wait for it.
  static void act(fork_member&, fork_step step) noexcept {
    const bool is_mine = held != 0;
    if (!is_mine && !is_guarded) detail::act_on_leaf(hot, step);
    if (step != fork_step::renew) return;
    if (!growth.is_mine()) innermost = nullptr;
    growth.renew_in_child();
    if (is_mine) detail::act_on_leaf(hot, step), detail::act_on_leaf(hot, fork_step::lock);
    else if (is_guarded) detail::renew(hot);
    is_guarded = is_mine;
  }

  /// Locks the leaf mutex, unless a group_guard of this thread holds both.
  class hot_guard {
   public:
    TARN_STEP explicit hot_guard(Mutex& mutex) : mutex_(held == 0 ? detail::pointer_to(mutex) : nullptr) {
      if (mutex_ != nullptr) mutex_->lock();
    }
    TARN_STEP ~hot_guard() {
      if (mutex_ != nullptr) mutex_->unlock();
    }
    hot_guard(const hot_guard&) = delete;
    hot_guard& operator=(const hot_guard&) = delete;

   private:
    Mutex* mutex_;
  };
};

template <class Group, class Mutex>
struct group_guards {
  static constexpr bool can_try = try_lockable<Mutex>;
  using mutexes = group_mutexes<Group, Mutex>;
  using hot_guard = typename mutexes::hot_guard;
  static constexpr growth_again again = growth_again::told;

  /// The group's guard, unless this thread holds it already, and a mark that the pool is at its store.
  class growth_guard {
   public:
    explicit growth_guard(const void* pool) : guard_(mutexes::growth, is_held_here()) { mark(pool); }
    growth_guard(const void* pool, only_try what) : guard_(mutexes::growth, what, is_held_here()) { mark(pool); }
    ~growth_guard() {
      if (guard_) mutexes::innermost = mark_.outer;
    }
    growth_guard(const growth_guard&) = delete;
    growth_guard& operator=(const growth_guard&) = delete;
    explicit operator bool() const noexcept { return static_cast<bool>(guard_); }

   private:
    void mark(const void* pool) noexcept {
      if (!guard_) return;
      mark_ = {pool, mutexes::innermost};
      mutexes::innermost = detail::launder_address(&mark_);  // g++ 12 warns of a dangling pointer, which goes when this does
    }

    typename store_mutex<Mutex>::guard guard_;
    group_growth mark_{};
  };

  TARN_STEP hot_guard hot() const { return hot_guard(mutexes::admits() ? mutexes::hot : mutex_of_forker<Mutex>); }
  growth_guard growth() const {
    mutexes::admits();
    return growth_guard(this);
  }
  growth_guard try_growth() const
    requires try_lockable<Mutex>
  {
    mutexes::admits();
    return growth_guard(this, only_try());
  }
  /// Whether this thread is at the store of this pool.
  bool grows_here() const noexcept {
    if (!is_held_here()) return false;
    const group_growth* one = mutexes::innermost;
    while (one != nullptr && one->pool != this) one = one->outer;
    return one != nullptr;
  }
  static bool is_held_here() noexcept { return mutexes::held != 0 || mutexes::growth.is_mine(); }
  static void end() noexcept {}
};

}  // namespace detail

/// \tparam Group  any type, complete or not: the group's name
/// \tparam Mutex  void: no lock, one thread owns the group; otherwise a BasicLockable
template <class Group, class Mutex = void>
struct grouped_locking {
  using axis = tarn::axis::locking;
  static constexpr bool arguments_hold =
      std::is_void_v<Mutex> || (detail::basic_lockable<Mutex> && detail::locks_here<Mutex> && detail::counts_holds<Mutex>);
  struct complaint {
    static_assert(std::is_void_v<Mutex> || detail::basic_lockable<Mutex>,
                  "tarn: [L2] grouped_locking was given a type without lock() and unlock() as its mutex; use a mutex, such as "
                  "tarn::mutex, or none");
    static_assert(std::is_void_v<Mutex> || detail::counts_holds<Mutex> || !detail::locks_here<Mutex>,
                  "tarn: [Y9] grouped_locking was given a mutex, but this target has no thread-local variables, in which a "
                  "group_guard counts how often it holds it; use mutex_locking<>, or grouped_locking<Group> for one thread");
    static_assert(arguments_hold || !detail::basic_lockable<Mutex> || detail::locks_here<Mutex>,
                  "tarn: [Y3] one of tarn's mutexes was used, but this target has no threads, and the mutex doesn't stop "
                  "interrupts; use no_locking, interrupt_locking<> or your own mutex, or provide a platform header "
                  "(docs/platforms.md)");
  };
  static constexpr locking_traits traits{
      .one_thread = std::is_void_v<Mutex>,
      .has_owner = true,
      .can_wait = !std::is_void_v<Mutex>,
      .can_try = detail::try_lockable<Mutex>,
      .ends_at_exit = !std::is_void_v<Mutex> && !std::is_trivially_destructible_v<Mutex>,
  };
  /// The number of the thread that owns the group, for checking policies; 0: none so far.
  static detail::atomic_word<detail::thread_number>& owner() noexcept { return detail::group_owner<Group>; }
  template <class T>
  using cell = T;
  template <class Traits>
  using per_chunk = detail::no_column<axis>;
  using guards =
      typename std::conditional_t<std::is_void_v<Mutex>, std::type_identity<no_locking::guards>,
                                  std::type_identity<detail::group_guards<Group, Mutex>>>::type;
  template <class Traits>
  using state = detail::direct_calls<guards>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_GROUPED_LOCKING_H_

// A mutex that is held while a store is called, as the gate of forks asks; and what forks ask of one that isn't.
#ifndef TARN_POLICIES_DETAIL_STORE_MUTEX_H_
#define TARN_POLICIES_DETAIL_STORE_MUTEX_H_

#include <concepts>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/policies/detail/forks.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/this_thread_number.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn::detail {

template <class M>
concept try_lockable = requires(M& m) {
  { m.try_lock() } -> std::convertible_to<bool>;
};

/// The same, where threads may be inside the gate: a locking policy keeps them apart, or other pools ask this one to trim.
template <class Locking, bool Asked = false>
using store_call_under = std::conditional_t<Locking::traits.one_thread && !Asked, no_guard, store_call>;

/// Makes a mutex anew, in the child of a fork: the thread that locked it may be gone, or be this one, which the system knows by
/// another number than in the parent. So unlock() may do nothing.
template <class Mutex>
void renew(Mutex& mutex) {
  ::new (static_cast<void*>(detail::pointer_to(mutex))) Mutex;
}

/// What a fork does with a leaf mutex.
template <class Mutex>
void act_on_leaf(Mutex& mutex, fork_step step) {
  if (step == fork_step::lock) {
#if defined(TARN_TSAN)
    // Members come and go, so each fork has an order of its own. Only one holds several, so no two wait for each other, but
    // ThreadSanitizer doesn't see that. It doesn't ask in which order mutexes were tried.
    if constexpr (try_lockable<Mutex>) {
      while (!mutex.try_lock()) yield_thread();
      return;
    }
#endif
    mutex.lock();
  } else {
    mutex.unlock();
    if (step == fork_step::renew) detail::renew(mutex);
  }
}

/// A mutex under which stores are called, held through a guard.
template <class Mutex>
class store_mutex {
 public:
  /// Holds the mutex, inside the gate. Not if the thread that forks would wait, in a handler of the program: the holder is at
  /// a store, and then waits until the fork is over.
  class [[nodiscard]] guard {
   public:
    /// `others`: another guard of this thread holds it.
    explicit guard(store_mutex& m, bool others = false) {
      if (others) return;
      holds_ = !process_forks().holds_all() || !m.is_taken();
      if (holds_) holder_before_ = m.lock(), mutex_ = detail::pointer_to(m);
    }
    /// Waits for nothing, not even a fork.
    guard(store_mutex& m, only_try what, bool others = false)
      requires try_lockable<Mutex>
        : inside_(what) {
      const thread_number me = this_thread_number();
      holds_ = others || (inside_ && m.mutex_.try_lock());
      if (holds_ && !others) holder_before_ = m.note(me), mutex_ = detail::pointer_to(m);
    }
    ~guard() {
      if (mutex_ != nullptr) mutex_->unlock(holder_before_);
    }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    explicit operator bool() const noexcept { return holds_; }

   private:
    inside_gate inside_;
    store_mutex* mutex_ = nullptr;      // to unlock
    thread_number holder_before_ = 0;  // this thread, if the mutex is recursive
    bool holds_ = true;
  };

  /// Whether this thread holds it. Waits for nothing.
  bool is_mine() const noexcept { return holder_.load(memory_order_relaxed) == this_thread_number(); }

  /// If its holder is this thread, it is locked again. If nobody is noted, a thread that waited, and so was at a store, may
  /// have locked it just before the fork.
  void renew_in_child() {
    const bool is_mine = this->is_mine();
    if (is_mine) mutex_.unlock();
    detail::renew(mutex_);
    if (is_mine) detail::act_on_leaf(mutex_, fork_step::lock);
    else holder_.store(0, memory_order_relaxed);
  }

 private:
  /// Asked while no other thread can unlock it.
  bool is_taken() {
    if constexpr (try_lockable<Mutex>) {
      if (!mutex_.try_lock()) return true;
      mutex_.unlock();
      return false;
    } else {
      return holder_.load(memory_order_relaxed) != 0;
    }
  }
  thread_number lock() {
    const thread_number me = this_thread_number();  // not under the mutex: the first in the process may allocate, here even
    if constexpr (try_lockable<Mutex>)
      if (mutex_.try_lock()) return note(me);
    const store_call wait;  // its holder may be at a store
    mutex_.lock();
    return note(me);
  }
  void unlock(thread_number holder_before) {
    holder_.store(holder_before, memory_order_relaxed);
    mutex_.unlock();
  }
  thread_number note(thread_number me) noexcept {
    const thread_number before = holder_.load(memory_order_relaxed);
    holder_.store(me, memory_order_relaxed);
    return before;
  }

  Mutex mutex_;
  atomic_word<thread_number> holder_ = 0;  // its thread's number
};

/// In the place of a leaf mutex, for the thread that forks: it holds that already.
template <class Mutex>
inline Mutex mutex_of_forker{};

/// The member of an owner that has a destructor, and lets all that it consists of start zero.
struct fork_member_with_end : fork_member {
  constexpr fork_member_with_end() noexcept : fork_member(true) {}
};
template <class Traits>
using fork_member_in = std::conditional_t<starts_zero<Traits>, fork_member_with_end, fork_member>;

/// A leaf mutex that a fork holds. Its owner calls leave() before it ends.
/// \tparam Member  fork_member, or that with an end
template <class Member>
class fork_mutex_as : Member {
 public:
  void lock() { (admits(act) ? mutex_ : mutex_of_forker<tarn::mutex>).lock(); }
  void unlock() { (process_forks().holds_all() ? mutex_of_forker<tarn::mutex> : mutex_).unlock(); }
  using Member::leave;

 private:
  using Member::admits;
  static void act(fork_member& m, fork_step step) noexcept { act_on_leaf(static_cast<fork_mutex_as&>(m).mutex_, step); }

  tarn::mutex mutex_;
};
using fork_mutex = fork_mutex_as<fork_member>;

/// As fork_mutex, but stores are called under it, and it is held through a guard.
template <class Member>
class fork_store_mutex_as : Member {
  using Member::admits;

 public:
  class [[nodiscard]] guard : store_mutex<tarn::mutex>::guard {
   public:
    explicit guard(fork_store_mutex_as& m) : store_mutex<tarn::mutex>::guard((m.admits(act), m.mutex_)) {}
    guard(fork_store_mutex_as& m, only_try what) : store_mutex<tarn::mutex>::guard((m.admits(act), m.mutex_), what) {}
    using store_mutex<tarn::mutex>::guard::operator bool;
  };
  using Member::leave;
  /// Whether this thread holds it.
  bool is_mine() const noexcept { return mutex_.is_mine(); }

 private:
  static void act(fork_member& m, fork_step step) noexcept {
    if (step == fork_step::renew) static_cast<fork_store_mutex_as&>(m).mutex_.renew_in_child();
  }

  store_mutex<tarn::mutex> mutex_;
};
using fork_store_mutex = fork_store_mutex_as<fork_member>;

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_STORE_MUTEX_H_

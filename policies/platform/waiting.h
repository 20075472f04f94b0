// What waiting and locks need from the system: waiting for a word, a moment or a time; scopes that hold a mutex; annotations of
// mutexes for ThreadSanitizer; protection from cancellation. And the end of a thread.
#ifndef TARN_POLICIES_PLATFORM_WAITING_H_
#define TARN_POLICIES_PLATFORM_WAITING_H_

#include <climits>
#include <cstdint>

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"

namespace tarn::detail {

/// Lets other threads run.
inline void yield_thread() noexcept { platform::system::yield(); }
inline void sleep_microseconds(unsigned n) noexcept { platform::system::sleep(std::uint64_t{n} * 1000); }

/// Nanoseconds of a clock that is never set.
inline std::uint64_t steady_nanoseconds() noexcept { return platform::system::nanoseconds(); }

/// Returns when the word is no longer `value`, after wake_one(), or spuriously, so the caller must check again. Not for words
/// in memory that processes share. \param nanoseconds  after which it returns at the latest; 0: without a limit
TARN_COLD inline void wait_while(const unsigned* word, unsigned value, std::uint64_t nanoseconds = 0) noexcept {
  platform::system::wait_while(word, value, nanoseconds);
}
TARN_COLD inline void wake(const unsigned* word, int threads) noexcept { platform::system::wake(word, threads); }
/// Wakes one thread that waits for the word, if there is one.
inline void wake_one(const unsigned* word) noexcept { wake(word, 1); }
inline void wake_all(const unsigned* word) noexcept { wake(word, INT_MAX); }

/// Whether the process has had one thread only, so that a lock may be skipped. Known with glibc 2.32 and later; elsewhere it is
/// false, except without threads, where it is always true. Under ThreadSanitizer, which must see every lock, it is false.
TARN_STEP bool is_single_threaded() noexcept {
#if defined(TARN_TSAN)
  return false;
#else
  return platform::system::is_single_threaded();
#endif
}

/// While it exists, its thread isn't cancelled (pthread_cancel); that happens later, at the thread's next cancellation point.
/// Used around users' code that runs inside a pool, and around waiting. A cancelled thread unwinds like one that throws, and
/// the calls of a pool are noexcept, so cancellation would terminate the process.
using uncancelled = platform::system::uncancelled;

// Scopes that hold a mutex, because std::lock_guard and std::unique_lock would need <mutex>.

template <class Mutex>
class [[nodiscard]] held {
 public:
  TARN_STEP explicit held(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  TARN_STEP ~held() { mutex_.unlock(); }
  held(const held&) = delete;
  held& operator=(const held&) = delete;

 private:
  Mutex& mutex_;
};

/// Holds the mutex if it was free.
template <class Mutex>
class [[nodiscard]] tried {
 public:
  explicit tried(Mutex& mutex) : mutex_(mutex.try_lock() ? detail::pointer_to(mutex) : nullptr) {}
  ~tried() {
    if (mutex_ != nullptr) mutex_->unlock();
  }
  tried(const tried&) = delete;
  tried& operator=(const tried&) = delete;

  explicit operator bool() const noexcept { return mutex_ != nullptr; }

 private:
  Mutex* mutex_;
};

/// Whether a guard holds its mutex: an attempt may have failed. A guard that doesn't convert to bool always does.
template <class Guard>
TARN_STEP constexpr bool is_held([[maybe_unused]] const Guard& guard) noexcept {
  if constexpr (requires { static_cast<bool>(guard); }) return static_cast<bool>(guard);
  else return true;
}

// Annotations of the library's own mutex for ThreadSanitizer. Without them, it sees races, but not lock-order inversions.

#if defined(TARN_TSAN)
extern "C" {
void __tsan_mutex_pre_lock(void* mutex, unsigned flags);
void __tsan_mutex_post_lock(void* mutex, unsigned flags, int recursion);
int __tsan_mutex_pre_unlock(void* mutex, unsigned flags);
void __tsan_mutex_post_unlock(void* mutex, unsigned flags);
}
inline constexpr unsigned tsan_static = 1;  // as an object without a constructor: never constructed, never destroyed
inline constexpr unsigned tsan_try = 1 << 4;
inline constexpr unsigned tsan_failed = 1 << 5;

inline void tsan_before_lock(void* mutex) noexcept { __tsan_mutex_pre_lock(mutex, tsan_static); }
inline void tsan_after_lock(void* mutex) noexcept { __tsan_mutex_post_lock(mutex, tsan_static, 0); }
inline void tsan_before_try_lock(void* mutex) noexcept { __tsan_mutex_pre_lock(mutex, tsan_static | tsan_try); }
inline void tsan_after_try_lock(void* mutex, bool got) noexcept {
  __tsan_mutex_post_lock(mutex, tsan_static | tsan_try | (got ? 0 : tsan_failed), 0);
}
inline void tsan_before_unlock(void* mutex) noexcept { __tsan_mutex_pre_unlock(mutex, tsan_static); }
inline void tsan_after_unlock(void* mutex) noexcept { __tsan_mutex_post_unlock(mutex, tsan_static); }
#else
TARN_STEP void tsan_before_lock(void*) noexcept {}
TARN_STEP void tsan_after_lock(void*) noexcept {}
TARN_STEP void tsan_before_try_lock(void*) noexcept {}
TARN_STEP void tsan_after_try_lock(void*, bool) noexcept {}
TARN_STEP void tsan_before_unlock(void*) noexcept {}
TARN_STEP void tsan_after_unlock(void*) noexcept {}
#endif

// ---- the end of a thread -------------------------------------------------------------------------------------------------
//
// Neither thread_end nor a destructor works for what a thread first does in the last round of its keys' destructors, because
// nothing runs after that. So code that takes something for a thread marks it, and others check whether the thread is gone, if
// the system can say so (thread_marks).

/// Notifies a library when a thread exits. The destructor of a thread_local variable does as well, but its registration
/// allocates, and without memory glibc aborts. A key of the system needs no memory, so it can be set in a free.
/// One key. Constant-initialised.
class thread_end {
 public:
  using handler = void (*)(void*);

  /// `act`, the same each time, will be called with the argument when the calling thread exits, if the library is still loaded.
  /// Returns false if that would need memory. A second call in a thread has no effect.
  bool tell([[maybe_unused]] handler act, [[maybe_unused]] void* argument) noexcept {
    if constexpr (system::thread_keys != 0) {
      unsigned place = place_.load(memory_order_acquire);
      if (place == unmade) place = make(act);
      return place < unmade && system::set_thread_value(place, argument);
    } else {
      return false;
    }
  }
  /// The calling thread's argument; null: none was set.
  void* told() noexcept {
    const unsigned place = place_.load(memory_order_acquire);
    return place < unmade ? system::thread_value(place) : nullptr;
  }
  /// Called before the library is unloaded: no thread is reported any more.
  void close() noexcept {
    const unsigned place = place_.exchange(refused, memory_order_acq_rel);
    if (place < unmade) system::drop_thread_key(place);
  }

 private:
  using system = platform::system;
  static constexpr unsigned unmade = system::thread_keys;  // keys below need no memory
  static constexpr unsigned refused = unmade + 1;

  TARN_COLD unsigned make(handler act) noexcept {
    const unsigned key = system::make_thread_key(act);
    if (key == system::no_key) return unmade;  // all are taken; the next attempt may succeed
    const unsigned place = key < unmade ? key : refused;
    unsigned seen = unmade;
    const bool is_first = place_.compare_exchange_strong(seen, place, memory_order_acq_rel);
    if (!is_first || place == refused) system::drop_thread_key(key);
    return is_first ? place : seen;
  }

  // Order: load acquire, exchange acquire and release. A key of the system, whose memory the system orders. It is set once and
  // closed once.
  atomic_word<unsigned> place_ = unmade;
};

/// Marks which thread something belongs to. Constant-initialised.
class thread_marks {
 public:
  using mark = std::uintptr_t;  // 0: no thread's, or unknown

  /// A different one each time, so that an exchange doesn't replace a later mark of a thread with the same number.
  mark next() noexcept {
    if constexpr (system::knows_threads) {
      unsigned process = process_.load(memory_order_relaxed);
      if (process == 0) process_.store(process = system::this_process(), memory_order_relaxed);
      if (process != system::this_process()) return 0;  // after vfork() another process runs as this thread
      return next_.fetch_add(1, memory_order_relaxed) << bits | system::this_thread();
    } else {
      return 0;
    }
  }
  /// Whether the thread is known to be gone. Precondition: the mark came from here.
  bool is_gone([[maybe_unused]] mark whose) noexcept {
    if constexpr (system::knows_threads)
      return whose != 0 && process_.load(memory_order_relaxed) == system::this_process() &&
             system::is_gone(whose & ((mark{1} << bits) - 1));
    else return false;
  }
  /// In the child of a fork, where the calling thread has another number.
  void renew() noexcept {
    if constexpr (system::knows_threads) process_.store(system::this_process(), memory_order_relaxed);
  }

 private:
  using system = platform::system;
  static constexpr unsigned bits = 22;  // of a thread's number

  // Order: relaxed; numbers.
  atomic_word<mark> next_ = 1;
  atomic_word<unsigned> process_ = 0;  // whose threads have marks
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_WAITING_H_

// Waiting: for a word to change, for a moment, for the clock.
#ifndef TARN_POLICIES_PLATFORM_WAITING_H_
#define TARN_POLICIES_PLATFORM_WAITING_H_

#include <climits>
#include <cstdint>

#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"

namespace tarn::detail {

/// Lets other threads run.
inline void yield_thread() noexcept { platform::system::yield(); }
inline void sleep_microseconds(unsigned n) noexcept { platform::system::sleep(std::uint64_t{n} * 1000); }

/// Nanoseconds of a clock that is never set.
inline std::uint64_t steady_nanoseconds() noexcept { return platform::system::nanoseconds(); }

/// Returns when the word is no longer `value`, after wake_one(), or for no reason: the caller must check again. Not for words
/// in memory that processes share. \param nanoseconds  after which it returns at the latest; 0: without a limit
TARN_COLD inline void wait_while(const unsigned* word, unsigned value, std::uint64_t nanoseconds = 0) noexcept {
  platform::system::wait_while(word, value, nanoseconds);
}
TARN_COLD inline void wake(const unsigned* word, int threads) noexcept { platform::system::wake(word, threads); }
/// Wakes one thread that waits for the word, if there is one.
inline void wake_one(const unsigned* word) noexcept { wake(word, 1); }
inline void wake_all(const unsigned* word) noexcept { wake(word, INT_MAX); }

// Whether the process has had only one thread, if the C library reports that: then a lock may be skipped.

/// glibc 2.32 and later know; elsewhere this is never true, but without threads always. Nor is it under ThreadSanitizer, which
/// must see every lock.
TARN_STEP bool is_single_threaded() noexcept {
#if defined(TARN_TSAN)
  return false;
#else
  return platform::system::is_single_threaded();
#endif
}

}  // namespace tarn::detail

// Annotations of the library's own mutex for ThreadSanitizer. Without them it sees races, but not lock-order inversions.

#if defined(TARN_TSAN)
extern "C" {
void __tsan_mutex_pre_lock(void* mutex, unsigned flags);
void __tsan_mutex_post_lock(void* mutex, unsigned flags, int recursion);
int __tsan_mutex_pre_unlock(void* mutex, unsigned flags);
void __tsan_mutex_post_unlock(void* mutex, unsigned flags);
}
#endif

namespace tarn::detail {

#if defined(TARN_TSAN)
inline constexpr unsigned tsan_static = 1;  // as an object without a constructor: never made, never destroyed
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

// pthread_cancel(): a thread that is cancelled unwinds like one that throws, from within the system's functions that wait. The
// calls of a pool don't throw, so that this would end the process.

/// While it lives, its thread isn't cancelled, but after that, at its next cancellation point. Around the code of users that
/// runs inside a pool, and what waits.
using uncancelled = platform::system::uncancelled;

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_WAITING_H_

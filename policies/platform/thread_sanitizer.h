// Annotations of the library's own mutex for ThreadSanitizer. Without them it sees races, but not lock-order inversions.
#ifndef TARN_POLICIES_PLATFORM_THREAD_SANITIZER_H_
#define TARN_POLICIES_PLATFORM_THREAD_SANITIZER_H_

#include "tarn/policies/platform/config.h"

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

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_THREAD_SANITIZER_H_

// Whether the process has had only one thread, if the C library reports that: then a lock may be skipped.
#ifndef TARN_POLICIES_PLATFORM_SINGLE_THREADED_H_
#define TARN_POLICIES_PLATFORM_SINGLE_THREADED_H_

#include "tarn/policies/platform/config.h"

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define TARN_KNOWS_SINGLE_THREAD 1
#endif
#endif

namespace tarn::detail {

/// glibc 2.32 and later know; elsewhere this is never true. Nor is it under ThreadSanitizer, which must see every lock.
TARN_STEP bool is_single_threaded() noexcept {
#if defined(TARN_KNOWS_SINGLE_THREAD) && !defined(TARN_TSAN)
  return __libc_single_threaded != 0;
#else
  return false;
#endif
}

}  // namespace tarn::detail

#undef TARN_KNOWS_SINGLE_THREAD

#endif  // TARN_POLICIES_PLATFORM_SINGLE_THREADED_H_

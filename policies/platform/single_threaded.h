// Whether the process has had only one thread, if the C library reports that: then a lock may be skipped.
#ifndef TARN_POLICIES_PLATFORM_SINGLE_THREADED_H_
#define TARN_POLICIES_PLATFORM_SINGLE_THREADED_H_

#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"

namespace tarn::detail {

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

#endif  // TARN_POLICIES_PLATFORM_SINGLE_THREADED_H_

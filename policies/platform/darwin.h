// What macOS and iOS have besides POSIX.
#ifndef TARN_POLICIES_PLATFORM_DARWIN_H_
#define TARN_POLICIES_PLATFORM_DARWIN_H_

#include "tarn/policies/platform/posix.h"

namespace tarn::platform {

struct darwin_system : posix_system {
  static constexpr unsigned thread_keys = 512;  // all values stand in the thread

#if defined(MADV_FREE)
  static constexpr bool has_page_advice = true;
  static constexpr int discard = MADV_FREE;  // MADV_DONTNEED gives nothing back here
  static constexpr int free_lazily = MADV_FREE;
  static constexpr int populate_write = -1;  // not known: page_memory writes to each page
  static int advise(void* start, std::size_t bytes, int advice) noexcept { return ::madvise(start, bytes, advice); }
  static long advise_all(const void*, std::size_t, int) noexcept {
    errno = ENOSYS;
    return -1;
  }
#endif
};

}  // namespace tarn::platform

#endif  // TARN_POLICIES_PLATFORM_DARWIN_H_

// Calls of the Tracy profiler through its header for C, if it is installed.
#ifndef TARN_POLICIES_PLATFORM_TRACY_CALLS_H_
#define TARN_POLICIES_PLATFORM_TRACY_CALLS_H_

#include <cstddef>

#include "tarn/policies/platform/config.h"

#if __has_include(<tracy/TracyC.h>)
#include <tracy/TracyC.h>
#endif

namespace tarn::platform {

#if defined(TracyCAllocN) && defined(TracyCFreeN) && defined(TracyCMemoryDiscard)
template <class = void>
struct tracy_calls {
  static constexpr bool are_here = true;
  static void allocate([[maybe_unused]] const void* block, [[maybe_unused]] std::size_t bytes,
                       [[maybe_unused]] const char* name) noexcept {
    TracyCAllocN(block, bytes, name);
  }
  static void (free)([[maybe_unused]] const void* block, [[maybe_unused]] const char* name) noexcept {
    TracyCFreeN(block, name);
  }
  static void discard([[maybe_unused]] const char* name) noexcept { TracyCMemoryDiscard(name); }
};
#else
template <class = void>
struct tracy_calls {
  static constexpr bool are_here = false;
};
#endif

}  // namespace tarn::platform

#endif  // TARN_POLICIES_PLATFORM_TRACY_CALLS_H_

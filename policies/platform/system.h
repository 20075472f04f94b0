// Chooses the system that provides threads, pages, a clock … to policies (none.h lists all services). TARN_PLATFORM_HEADER,
// defined in every file of the program, is a header that defines another one (docs/platforms.md).
#ifndef TARN_POLICIES_PLATFORM_SYSTEM_H_
#define TARN_POLICIES_PLATFORM_SYSTEM_H_

#include "tarn/policies/platform/config.h"

#if defined(TARN_PLATFORM_HEADER)
#include TARN_PLATFORM_HEADER  // defines tarn::platform::system, and the macros of posix.h for what it has
#elif defined(__linux__)
#include "tarn/policies/platform/posix.h"
#define TARN_SYSTEM_ linux_system
#elif defined(__APPLE__)
#include "tarn/policies/platform/posix.h"
#define TARN_SYSTEM_ darwin_system
#elif defined(_WIN32)
#include "tarn/policies/platform/windows.h"
#define TARN_SYSTEM_ windows_system
#elif defined(__unix__) && !defined(__wasi__) && __has_include(<sys/mman.h>)
#include "tarn/policies/platform/posix.h"
#define TARN_SYSTEM_ posix_system
#elif __STDC_HOSTED__
#include "tarn/policies/platform/bare.h"
#else
#include "tarn/policies/platform/none.h"
#define TARN_SYSTEM_ no_system
#endif

#if !defined(TARN_THREAD_LOCAL)
#define TARN_THREAD_LOCAL
#endif

namespace tarn::platform {

#if defined(TARN_SYSTEM_)
using system = TARN_SYSTEM_;
#undef TARN_SYSTEM_
#endif

static_assert(!system::has_threads || has_atomics || system::has_atomic_section,
              "tarn: [Y1] the platform header says that there are threads, but this processor has no compare-and-swap; provide "
              "an atomic_section that masks interrupts (docs/platforms.md)");

}  // namespace tarn::platform

#endif  // TARN_POLICIES_PLATFORM_SYSTEM_H_

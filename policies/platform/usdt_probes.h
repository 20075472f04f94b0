// Probes of <sys/sdt.h>, if it is installed: they are listed in the program's file, and each is an instruction that does
// nothing until a tracer attaches.
#ifndef TARN_POLICIES_PLATFORM_USDT_PROBES_H_
#define TARN_POLICIES_PLATFORM_USDT_PROBES_H_

#include <cstddef>

#include "tarn/policies/platform/config.h"

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#endif

namespace tarn::platform {

#if defined(DTRACE_PROBE3)
// A probe is one instruction, but g++ counts each line of its asm as one, and wouldn't inline a hit.
#pragma push_macro("__asm__")
#define __asm__ __asm__ __inline__
#if defined(__clang__)  // which otherwise puts each argument into memory
#pragma push_macro("STAP_SDT_ARG_CONSTRAINT")
#undef STAP_SDT_ARG_CONSTRAINT
#define STAP_SDT_ARG_CONSTRAINT nr
#endif
template <class = void>
struct usdt_probes {
  static constexpr bool are_here = true;
  TARN_STEP static void allocate(const void* pool, const void* block, std::size_t bytes) noexcept {
    DTRACE_PROBE3(tarn, alloc, pool, block, bytes);
    DTRACE_PROBE2(otel_memory, alloc, block, bytes);
  }
  TARN_STEP static void (free)(const void* pool, const void* block, std::size_t bytes) noexcept {
    DTRACE_PROBE3(tarn, free, pool, block, bytes);
    DTRACE_PROBE1(otel_memory, free, block);
  }
  static void grow(const void* pool, const void* chunk, std::size_t bytes) noexcept {
    DTRACE_PROBE3(tarn, grow, pool, chunk, bytes);
  }
  static void give_back(const void* pool, const void* chunk, std::size_t bytes) noexcept {
    DTRACE_PROBE3(tarn, give_back, pool, chunk, bytes);
  }
  static void refuse(const void* pool, std::size_t bytes) noexcept { DTRACE_PROBE2(tarn, refuse, pool, bytes); }
  static void release(const void* pool) noexcept { DTRACE_PROBE1(tarn, release, pool); }
};
#if defined(__clang__)
#pragma pop_macro("STAP_SDT_ARG_CONSTRAINT")
#endif
#pragma pop_macro("__asm__")
#else
template <class = void>
struct usdt_probes {
  static constexpr bool are_here = false;
};
#endif

}  // namespace tarn::platform

#endif  // TARN_POLICIES_PLATFORM_USDT_PROBES_H_

// Informs AddressSanitizer, MemorySanitizer and Valgrind about blocks, so that they treat a free one as freed memory. In a
// build without them this does nothing. No layout differs between builds.
//
// The build shows whether a sanitizer is used, but not whether Valgrind is. TARN_VALGRIND, defined in every file of the
// program, includes Valgrind's header, which is free to use in any program, and makes the pool inform Valgrind, which costs
// about ten instructions a call.
//
// Build all files that use one pool with the same tools. A file built without them allocates blocks that stay poisoned, so a
// file built with them, or memset(), is reported for touching its own block.
//
// AddressSanitizer has one mark for every eight bytes. No two blocks share one, because every reuse policy aligns blocks to a
// pointer.
#ifndef TARN_POLICIES_PLATFORM_MEMORY_TOOLS_H_
#define TARN_POLICIES_PLATFORM_MEMORY_TOOLS_H_

#include <cstddef>

#include "tarn/policies/platform/config.h"

#if defined(__SANITIZE_ADDRESS__)
#define TARN_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TARN_ASAN 1
#elif __has_feature(memory_sanitizer)
#define TARN_MSAN 1
#endif
#endif

#if defined(TARN_ASAN)
#include <sanitizer/asan_interface.h>
#elif defined(TARN_MSAN)
#include <sanitizer/msan_interface.h>
#endif
#if defined(TARN_VALGRIND)
#include <valgrind/memcheck.h>
#endif

namespace tarn::detail::memory_tools {

/// Whether there is a tool to inform. The hot path tests this before it calls, because at -O0 a call of an empty function still
/// costs 0.3 ns.
#if defined(TARN_ASAN) || defined(TARN_MSAN) || defined(TARN_VALGRIND)
inline constexpr bool active = true;
#else
inline constexpr bool active = false;
#endif

/// From now on, these bytes may only be touched through a window. Their contents stay.
TARN_STEP void poison([[maybe_unused]] const void* start, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(TARN_ASAN)
  __asan_poison_memory_region(start, bytes);
#elif defined(TARN_MSAN)
  __msan_poison(start, bytes);
#endif
#if defined(TARN_VALGRIND)
  (void)VALGRIND_MAKE_MEM_NOACCESS(start, bytes);
#endif
}

/// These bytes may be touched again; their contents count as initialised.
TARN_STEP void unpoison([[maybe_unused]] const void* start, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(TARN_ASAN)
  __asan_unpoison_memory_region(start, bytes);
#elif defined(TARN_MSAN)
  __msan_unpoison(start, bytes);
#endif
#if defined(TARN_VALGRIND)
  (void)VALGRIND_MAKE_MEM_DEFINED(start, bytes);
#endif
}

/// These bytes may be written; their contents count as uninitialised.
TARN_STEP void hand_out([[maybe_unused]] void* start, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(TARN_ASAN)
  __asan_unpoison_memory_region(start, bytes);
#elif defined(TARN_MSAN)
  __msan_allocated_memory(start, bytes);
#endif
#if defined(TARN_VALGRIND)
  (void)VALGRIND_MAKE_MEM_UNDEFINED(start, bytes);
#endif
}

/// A block is freed: if it is free already, the tool reports that, as it would a write to it.
TARN_STEP void take_back([[maybe_unused]] void* block) noexcept {
#if defined(TARN_ASAN)
  *static_cast<volatile char*>(block) = *static_cast<volatile char*>(block);
#endif
#if defined(TARN_VALGRIND)
  (void)VALGRIND_CHECK_MEM_IS_ADDRESSABLE(block, 1);
#endif
}

/// While this exists, the pool itself may touch poisoned bytes.
class window {
 public:
  TARN_STEP window(const void* start, std::size_t bytes) noexcept : start_(start), bytes_(bytes) { unpoison(start, bytes); }
  TARN_STEP ~window() { poison(start_, bytes_); }
  window(const window&) = delete;
  window& operator=(const window&) = delete;

 private:
  const void* start_;
  std::size_t bytes_;
};

}  // namespace tarn::detail::memory_tools

#endif  // TARN_POLICIES_PLATFORM_MEMORY_TOOLS_H_

// Huge pages of the operating system, on request.
#ifndef TARN_POLICIES_PLATFORM_HUGE_PAGES_H_
#define TARN_POLICIES_PLATFORM_HUGE_PAGES_H_

#include <cstddef>
#include <cstdint>

#if defined(__has_include)
#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif
#endif

namespace tarn::detail {

struct huge_pages_of_system {
  /// As most systems with huge pages have them: x86-64, and ARM with small pages of 4 KiB.
  static constexpr std::size_t bytes = 2 * 1024 * 1024;

#if defined(MADV_HUGEPAGE)
  static constexpr bool exist = true;
  /// Asks for them where they fit into that. Returns whether the system took the request; it may or may not give them.
  static bool ask(std::byte* start, std::size_t size) noexcept {
    const std::size_t skip = (bytes - reinterpret_cast<std::uintptr_t>(start) % bytes) % bytes;
    return skip < size && size - skip >= bytes && ::madvise(start + skip, (size - skip) / bytes * bytes, MADV_HUGEPAGE) == 0;
  }
#else
  static constexpr bool exist = false;
  static bool ask(std::byte*, std::size_t) noexcept { return false; }
#endif
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_HUGE_PAGES_H_

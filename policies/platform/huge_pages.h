// Huge pages of the operating system, on request.
#ifndef TARN_POLICIES_PLATFORM_HUGE_PAGES_H_
#define TARN_POLICIES_PLATFORM_HUGE_PAGES_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/platform/system.h"

namespace tarn::detail {

struct huge_pages_of_system {
  /// As most systems with huge pages have them: x86-64, and ARM with small pages of 4 KiB.
  static constexpr std::size_t bytes = platform::system::huge_page_bytes;
  static constexpr bool exist = platform::system::has_huge_pages;

  /// Asks for them where they fit into that. Returns whether the system took the request; it may or may not give them.
  static bool ask(std::byte* start, std::size_t size) noexcept {
    const std::size_t skip = (bytes - reinterpret_cast<std::uintptr_t>(start) % bytes) % bytes;
    return skip < size && size - skip >= bytes &&
           platform::system::ask_for_huge_pages(start + skip, (size - skip) / bytes * bytes);
  }
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_HUGE_PAGES_H_

// Pages of the operating system.
#ifndef TARN_POLICIES_PLATFORM_SYSTEM_PAGES_H_
#define TARN_POLICIES_PLATFORM_SYSTEM_PAGES_H_

#include <cstddef>
#include <type_traits>

#include "tarn/policies/platform/system.h"

namespace tarn::detail {

/// Where the system has none, they are refused.
struct system_pages {
  using system = platform::system;
  static constexpr std::size_t least_bytes = 4096;
  /// The same in a constant expression as least_bytes, of which every system's are a multiple: what is computed there for a
  /// region of a known size is enough for larger pages.
  static constexpr std::size_t bytes_here() noexcept { return std::is_constant_evaluated() ? least_bytes : page_bytes(); }

  static std::size_t page_bytes() noexcept { return system::page_bytes(); }

  /// Returns addresses that can't be accessed; null: refused.
  static std::byte* reserve(std::size_t bytes) noexcept {
    return static_cast<std::byte*>(system::map_pages(bytes, 1, 0, false));
  }
  static bool allow(std::byte* start, std::size_t bytes) noexcept { return system::open_pages(start, bytes); }
  static void forbid(std::byte* start, std::size_t bytes) noexcept { system::close_pages(start, bytes); }
  /// Gives back the memory of pages that can't be accessed; the addresses stay.
  static void empty(std::byte* start, std::size_t bytes) noexcept { system::empty_pages(start, bytes); }
  static void release(std::byte* start, std::size_t bytes) noexcept { system::unmap_pages(start, bytes); }
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_SYSTEM_PAGES_H_

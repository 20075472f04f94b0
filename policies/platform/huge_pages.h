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

  /// A whole number of them near a size: fewer where that leaves out at most an eighth of it, more otherwise.
  static constexpr std::size_t whole_near(std::size_t size) noexcept {
    const std::size_t fewer = size / bytes * bytes;
    return size - fewer <= size / 8 ? fewer : fewer + bytes;
  }

  /// Asks for them in all small pages of which a part lies there, if they hold a huge one. Returns whether the system took the
  /// request; it may or may not give them.
  static bool ask(std::byte* start, std::size_t size) noexcept {
    const std::size_t page = platform::system::page_bytes();
    const auto address = reinterpret_cast<std::uintptr_t>(start);
    const std::size_t before = address % page;
    const std::size_t all = (before + size + page - 1) / page * page;
    const std::size_t skip = (bytes - (address - before) % bytes) % bytes;
    if (skip >= all || all - skip < bytes || !platform::system::ask_for_huge_pages(start - before, all)) return false;
    if (skip == 0 && before != 0) platform::system::join_small_pages(start - before);  // the heap wrote in front of `start`
    return true;
  }
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_HUGE_PAGES_H_

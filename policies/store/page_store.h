// decides    chunks are pages of the operating system, mapped for this pool and unmapped when given back
// costs      a system call for each chunk; its size is rounded up to whole pages, which the pool uses as far as growth allows
// conflicts  none (systems with mmap only)
// use when   memory must go back to the system at once, or many blocks deserve huge pages: page_store<huge_pages>
#ifndef TARN_POLICIES_STORE_PAGE_STORE_H_
#define TARN_POLICIES_STORE_PAGE_STORE_H_

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"

namespace tarn {

/// Option of page_store: chunks of whole huge pages (2 MiB), which the system is asked for and may not grant. First fill of
/// a million 64-byte blocks: 18 to 8 ns a block.
struct huge_pages {};

/// \tparam Options  none, or huge_pages
template <class... Options>
struct page_store {
  using axis = tarn::axis::store;
  static constexpr bool arguments_hold = (detail::one_of<Options, huge_pages> && ...);
  struct complaint {
    static_assert(arguments_hold, "tarn: [T2] page_store was given an option that it doesn't know; its option is huge_pages");
  };
  static constexpr bool bounded = false;
  static constexpr bool sized_by_geometry = false;
  static constexpr bool zeroed = true;  // whoever wants zeros need not write them
  static constexpr bool huge = detail::one_of<huge_pages, Options...>;

  template <class Environment>
  struct source {
    constexpr explicit source(const page_store&) noexcept {}

    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      const std::size_t page = page_size();
      const std::size_t start_alignment = std::max(alignment, page);
      if (bytes > detail::size_limit || start_alignment > detail::size_limit) return {};
      const std::size_t size = detail::round_up(bytes, page);
      // The system aligns to small pages only: map as much more as alignment may cost, and give both ends back.
      const std::size_t slack = start_alignment - small_page_size();
      void* const mapped =
          ::mmap(nullptr, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (mapped == MAP_FAILED) return {};
      std::byte* const begin = static_cast<std::byte*>(mapped);
      const std::size_t skip = detail::round_up(detail::address_of(mapped), start_alignment) - detail::address_of(mapped);
      if (skip != 0) ::munmap(begin, skip);
      if (slack != skip) ::munmap(begin + skip + size, slack - skip);
#if defined(MADV_HUGEPAGE)
      if constexpr (huge) ::madvise(begin + skip, size, MADV_HUGEPAGE);
#endif
      return {begin + skip, size};
    }
    void release(detail::memory region, std::size_t) noexcept { ::munmap(region.start, region.bytes); }

   private:
    static std::size_t small_page_size() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }
    static std::size_t page_size() noexcept { return huge ? huge_page_size : small_page_size(); }
    static constexpr std::size_t huge_page_size = 2 * 1024 * 1024;
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_STORE_PAGE_STORE_H_

// decides    chunks come from the global operator new and go back to operator delete. Behind the pool's first 16 MiB, the
//            system is asked for huge pages there
// costs      operator new, once for each chunk (a few times for some of 2 MiB and more); a word in the pool; behind the first
//            16 MiB up to 2 MiB in memory that no block needs yet
// conflicts  none
// use when   there is a heap and no reason not to use it (the default)
#ifndef TARN_POLICIES_STORE_HEAP_STORE_H_
#define TARN_POLICIES_STORE_HEAP_STORE_H_

#include <cstddef>
#include <new>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/huge_pages.h"
#include "tarn/policies/store/traits.h"

namespace tarn {

struct heap_store {
 private:
  using huge = detail::huge_pages_of_system;

 public:
  using axis = tarn::axis::store;
  static constexpr store_traits traits{.has_best_size = huge::exist};

  /// Whole huge pages, less what a heap adds, if that is within an eighth.
  static constexpr std::size_t best_size(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t whole = huge::whole_near(bytes + added);
    return alignment <= detail::cache_line && whole <= bytes + bytes / 8 ? whole - added : bytes;
  }

  template <class Traits>
  class source {
   public:
    constexpr explicit source(const heap_store&) noexcept {}

    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      if (bytes > detail::size_limit) return {};
      if (huge::exist && bytes % huge::bytes == 0) bytes += added;  // such a size tells release() that it may be aligned
      const detail::memory region = is_whole(bytes) ? get_whole(bytes, alignment) : get(bytes, alignment);
      if (!region) return {};
      const std::size_t held = held_ % cuts;
      const std::size_t in_small = held < in_small_pages ? in_small_pages - held : 0;
      held_ += region.bytes;
      if constexpr (huge::exist)
        if (region.bytes > in_small) huge::ask(static_cast<std::byte*>(region.start) + in_small, region.bytes - in_small);
      return region;
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      held_ -= region.bytes;
      if (held_ == cuts) held_ = 0;
      const bool aligned = huge::exist && region.bytes % huge::bytes == 0 && behind_huge_page(region) == 0;
      give(region, aligned ? detail::larger(alignment, huge::bytes) : alignment);
    }

   private:
    /// A pool's first bytes are in small pages: with huge ones, up to 2 MiB would be in memory that no block needs, which is an
    /// eighth of these bytes. A block's first use costs 21 ns of page faults in small ones, and 3.2 in huge ones (64 bytes).
    static constexpr std::size_t in_small_pages = 16 * 1024 * 1024;
    static constexpr std::size_t small_page = 4096;

    // The plain forms if their alignment suffices, since a program that replaces operator new usually replaces only that one.
    // The unsized forms of delete, because clang before 19 has no sized aligned one by default.
    static constexpr bool is_plain(std::size_t alignment) noexcept { return alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__; }
    static detail::memory get(std::size_t bytes, std::size_t alignment) noexcept {
      void* const start = is_plain(alignment) ? ::operator new(bytes, std::nothrow)
                                              : ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
      return {start, start == nullptr ? 0 : bytes};
    }
    static void give(detail::memory region, std::size_t alignment) noexcept {
      if (is_plain(alignment)) ::operator delete(region.start);
      else ::operator delete(region.start, std::align_val_t{alignment});
    }

    static constexpr bool is_whole(std::size_t bytes) noexcept { return huge::exist && (bytes + added) % huge::bytes == 0; }
    static std::size_t behind_huge_page(detail::memory region) noexcept {
      return detail::address_of(region.start) % huge::bytes;
    }

    /// A region of whole huge pages: it starts just behind the start of one, or there. To align each would lose as many
    /// addresses as a huge page has, so few are:
    ///   - a heap that maps large regions one by one maps whole huge pages for this size, and systems put that on one;
    ///   - a heap that cuts them from one piece has each end just behind the start of a huge page, and the next one there. It
    ///     is aligned if something else lies there, or if it is the first.
    /// glibc begins with the first, and does the second with sizes up to the largest that it got back. So it gets as much back
    /// as an aligned one needs.
    detail::memory get_whole(std::size_t bytes, std::size_t alignment) noexcept {
      if (held_ < cuts) {
        const detail::memory mapped = get(bytes, alignment);
        if (!mapped || behind_huge_page(mapped) < small_page) return mapped;
        give(mapped, alignment);
        held_ += cuts;
      }
      const detail::memory next = get(bytes + added, alignment);
      if (!next || (behind_huge_page(next) != 0 && behind_huge_page(next) < small_page)) return next;
      give(next, alignment);
      give(get(bytes + huge::bytes + small_page, alignment), alignment);
      return get(bytes + added, detail::larger(alignment, huge::bytes));
    }

    static constexpr std::size_t cuts = ~(detail::size_max / 2);
    std::size_t held_ = 0;  // bytes; and `cuts`, once the heap didn't map a region by itself
  };

 private:
  static constexpr std::size_t added = 3 * detail::cache_line;  // at least as much as heaps add to a region, and to align it
};

}  // namespace tarn

#endif  // TARN_POLICIES_STORE_HEAP_STORE_H_

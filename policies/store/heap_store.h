// decides    chunks come from the global operator new and go back to operator delete. Behind the pool's first 16 MiB, the
//            system is asked for huge pages there
// costs      operator new, once for each chunk; a word in the pool; behind the first 16 MiB up to 2 MiB that no block needs yet
// conflicts  none
// use when   there is a heap and no reason not to use it (the default)
#ifndef TARN_POLICIES_STORE_HEAP_STORE_H_
#define TARN_POLICIES_STORE_HEAP_STORE_H_

#include <cstddef>
#include <new>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/huge_pages.h"
#include "tarn/policies/store/traits.h"

namespace tarn {

struct heap_store {
  using axis = tarn::axis::store;
  static constexpr store_traits traits{.rounds_up = true};

  template <class Traits>
  class source {
   public:
    constexpr explicit source(const heap_store&) noexcept {}

    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      if (bytes > detail::size_limit) return {};
      bytes = rounded_up(bytes, alignment);
      alignment = alignment_of(bytes, alignment);
      // The plain forms if their alignment suffices, since a program that replaces operator new usually replaces only that one.
      void* const start = is_plain(alignment) ? ::operator new(bytes, std::nothrow)
                                              : ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
      if (start == nullptr) return {};
      const std::size_t in_small = held_ < in_small_pages ? in_small_pages - held_ : 0;
      held_ += bytes;
      if (bytes > in_small) huge::ask(static_cast<std::byte*>(start) + in_small, bytes - in_small);
      return {start, bytes};
    }
    // The unsized form of delete, because clang before 19 has no sized aligned one by default.
    void release(detail::memory region, std::size_t alignment) noexcept {
      held_ -= region.bytes;
      alignment = alignment_of(region.bytes, alignment);
      if (is_plain(alignment)) ::operator delete(region.start);
      else ::operator delete(region.start, std::align_val_t{alignment});
    }
    std::size_t rounded_up(std::size_t bytes, std::size_t) const noexcept {
      const bool in_huge_pages = huge::exist && held_ >= in_small_pages && bytes >= in_whole_huge_pages;
      return in_huge_pages && bytes <= detail::size_limit ? detail::round_up(bytes, huge::bytes) : bytes;
    }

   private:
    using huge = detail::huge_pages_of_system;

    /// A pool's first bytes are in small pages: with huge ones, up to 2 MiB would be in memory that no block needs, which is an
    /// eighth of these bytes. A block's first use costs 21 ns of page faults in small ones, and 3.2 in huge ones (64 bytes).
    static constexpr std::size_t in_small_pages = 16 * 1024 * 1024;
    /// A larger region that comes later is made of whole huge pages.
    static constexpr std::size_t in_whole_huge_pages = 2 * huge::bytes;

    static constexpr bool is_plain(std::size_t alignment) noexcept { return alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__; }
    /// Also release() must know it, from what it is given.
    static constexpr std::size_t alignment_of(std::size_t bytes, std::size_t alignment) noexcept {
      return huge::exist && bytes % huge::bytes == 0 ? detail::larger(alignment, huge::bytes) : alignment;
    }

    std::size_t held_ = 0;  // bytes
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_STORE_HEAP_STORE_H_

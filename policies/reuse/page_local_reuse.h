// decides    the newest free blocks are kept in an array of pointers, the others as bits of a bitmap outside the blocks. Blocks
//            are taken from the fullest chunk, page by page, in ascending order within each page
// costs      on the hot path, the same as batch_reuse. A little more than a bit for each block, at the front of its chunk;
//            2 KiB in the pool object; a table of the chunks, from the store. A free doesn't touch the block
// conflicts  none; blocks under 8 bytes take 8
// use when   memory must go back while the pool lives, or blocks freed in random order are used again and traversed
#ifndef TARN_POLICIES_REUSE_PAGE_LOCAL_REUSE_H_
#define TARN_POLICIES_REUSE_PAGE_LOCAL_REUSE_H_

#include <bit>
#include <cstddef>
#include <type_traits>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/system_pages.h"
#include "tarn/policies/reuse/detail/block_bitmap.h"
#include "tarn/policies/reuse/detail/fullness_shelves.h"
#include "tarn/policies/reuse/detail/idle_units.h"
#include "tarn/policies/reuse/detail/page_local_list.h"
#include "tarn/policies/reuse/detail/page_returns.h"
#include "tarn/policies/reuse/prefetch.h"
#include "tarn/policies/reuse/traits.h"

namespace tarn {

/// \tparam PageBytes  bytes of blocks that are used up before others of their chunk: a power of two, at least 4096
/// \tparam Prefetch   on_allocate prefetches the block handed out, on_free the one given back
/// \tparam Front      pointers in the array: a multiple of 64 and at least 128
template <std::size_t PageBytes = 64 * 1024, prefetch Prefetch = prefetch::on_allocate, std::size_t Front = 256>
struct page_local_reuse {
  using axis = tarn::axis::reuse;
  static constexpr bool arguments_hold =
      PageBytes >= 4096 && detail::is_power_of_two(PageBytes) && Front >= 128 && Front % 64 == 0;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [E2] page_local_reuse with pages that are no power of two or under 4096 bytes, or a front that is no "
                  "multiple of 64 or under 128 pointers; take 65536 and 256");
  };
  static constexpr reuse_traits traits{
      .min_block = sizeof(detail::free_link),
      .min_alignment = alignof(detail::free_link),
      .finds_chunks = true,
      .sees_empty_chunks = true,
      .drops_null = true,
  };

 private:
  template <class Geometry>
  static constexpr std::size_t page_words(const Geometry& geometry) noexcept {
    const std::size_t words = PageBytes / geometry.stride() / detail::block_bitmap<>::word_blocks;
    return std::bit_floor(detail::clamped(words, 1, detail::block_bitmap<>::word_blocks));
  }

 public:
  /// The column: the bitmap.
  template <class Traits>
  struct per_chunk
      : detail::shelved<per_chunk<Traits>>,
        std::conditional_t<Traits::returns_pages, detail::page_counts<per_chunk<Traits>>, detail::no_page_counts> {
    using bitmap_type = detail::block_bitmap<std::conditional_t<Traits::returns_pages, detail::idle_units, detail::no_units>>;
    template <class Geometry>
    static constexpr unsigned unit_shift(const Geometry& geometry) noexcept {
      if constexpr (!Traits::returns_pages) return 0;
      else return detail::idle_units::shift_for(geometry.stride(), detail::system_pages::bytes_here());
    }
    template <class Geometry>
    static constexpr std::size_t column_bytes(std::size_t blocks, const Geometry& geometry) noexcept {
      return bitmap_type::bytes(blocks, page_words(geometry), unit_shift(geometry));
    }
    template <class Geometry>
    void open(std::byte* column, std::size_t blocks, const Geometry& geometry) noexcept {
      bitmap.open(column, blocks, page_words(geometry), unit_shift(geometry));
    }
    bitmap_type bitmap;
  };

  template <class Traits>
  using list = detail::page_local_list<Traits, per_chunk<Traits>, Prefetch, Front>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_REUSE_PAGE_LOCAL_REUSE_H_

// How many bytes a buffer needs for so many blocks, and how many blocks come out of so many bytes: exactly, and before there is
// a pool. For pools with a store, or a second one, whose region is the caller's and has an end.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_BUFFER_SIZES_H_
#define TARN_ALLOCATOR_DETAIL_POOL_BUFFER_SIZES_H_

#include <cstddef>

#include "tarn/policies/detail/arithmetic.h"

namespace tarn::detail {

template <class Traits>
struct buffer_sizes {
  using geometry = typename Traits::geometry;
  using layout = typename Traits::layout;

  static constexpr std::size_t bytes_for(std::size_t n, const geometry& g, std::size_t alignment) noexcept {
    if (n > at_most(g)) return size_max;
    return n == 0 ? 0 : add(skipped(g, alignment), layout::bytes(n, g));
  }
  static constexpr std::size_t blocks_in(std::size_t bytes, const geometry& g, std::size_t alignment) noexcept {
    const std::size_t lost = skipped(g, alignment);
    return bytes < lost ? 0 : layout::blocks_in(bytes - lost, at_most(g), g);
  }

 private:
  /// What the store skips in front.
  static constexpr std::size_t skipped(const geometry& g, std::size_t alignment) noexcept {
    const std::size_t needed = Traits::chunk_alignment(g);
    return needed - smaller(needed, larger(alignment, 1));
  }
  static constexpr std::size_t at_most(const geometry& g) noexcept {
    return typename Traits::growth_in_buffer().next_chunk(0, 0, g.stride()).at_most;
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_BUFFER_SIZES_H_

// How many bytes a buffer needs for so many blocks, and how many blocks come out of so many bytes: exactly, and before there is
// a pool. For pools with a store, or a second one, whose region is the caller's and has an end.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_BUFFER_SIZES_H_
#define TARN_ALLOCATOR_DETAIL_POOL_BUFFER_SIZES_H_

#include <cstddef>

#include "tarn/policies/detail/arithmetic.h"

namespace tarn::detail {

template <class Traits>
class buffer_sizes {
  using size = typename Traits::size;
  using geometry = typename Traits::geometry;
  using layout = typename Traits::layout;

 public:
  /// Returns the bytes of a buffer out of which `blocks` blocks come, no more and no fewer. `alignment`, a power of two: what
  /// the address of the buffer is known to be a multiple of. size_max: the pool never has that many blocks.
  static constexpr std::size_t bytes_for(std::size_t blocks, std::size_t alignment = 1) noexcept
    requires(Traits::takes_a_buffer && !Traits::size_is_given_at_run_time)
  {
    return bytes(blocks, geometry(), alignment);
  }
  /// The same for blocks whose size the pool is given.
  static constexpr std::size_t bytes_for(std::size_t blocks, const size& of, std::size_t alignment = 1) noexcept
    requires(Traits::takes_a_buffer && Traits::size_is_given_at_run_time)
  {
    return bytes(blocks, geometry(of), alignment);
  }

  /// Returns how many blocks come out of a buffer of so many bytes whose address is a multiple of `alignment` and of no larger
  /// power of two. If it is one, there may be one more.
  static constexpr std::size_t blocks_in(std::size_t bytes, std::size_t alignment = 1) noexcept
    requires(Traits::takes_a_buffer && !Traits::size_is_given_at_run_time)
  {
    return blocks(bytes, geometry(), alignment);
  }
  /// The same for blocks whose size the pool is given.
  static constexpr std::size_t blocks_in(std::size_t bytes, const size& of, std::size_t alignment = 1) noexcept
    requires(Traits::takes_a_buffer && Traits::size_is_given_at_run_time)
  {
    return blocks(bytes, geometry(of), alignment);
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
  static constexpr std::size_t bytes(std::size_t n, const geometry& g, std::size_t alignment) noexcept {
    if (n > at_most(g)) return size_max;
    return n == 0 ? 0 : add(skipped(g, alignment), layout::bytes(n, g));
  }
  static constexpr std::size_t blocks(std::size_t room, const geometry& g, std::size_t alignment) noexcept {
    const std::size_t lost = skipped(g, alignment);
    return room < lost ? 0 : layout::blocks_in(room - lost, at_most(g), g);
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_BUFFER_SIZES_H_

// decides    every chunk holds the same number of blocks, up to an optional cap on the total, in blocks or bytes
// costs      a call to the store for every Blocks blocks
// conflicts  bounded stores (static_array_store, buffer_store), which have one chunk
// use when   memory must grow in even, predictable steps
#ifndef TARN_POLICIES_GROWTH_FIXED_GROWTH_H_
#define TARN_POLICIES_GROWTH_FIXED_GROWTH_H_

#include <cstddef>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/growth/detail/cap.h"
#include "tarn/policies/growth/traits.h"

namespace tarn {

/// \tparam Blocks  in each chunk, at least 1
/// \tparam Cap     blocks in all chunks together
/// \tparam Bytes   bytes of all these blocks together, with what the other axes add to each; records of chunks not counted
template <std::size_t Blocks, std::size_t Cap = unlimited, std::size_t Bytes = unlimited>
struct fixed_growth {
  using axis = tarn::axis::growth;
  static constexpr bool arguments_hold = Blocks != 0 && Cap != 0 && Bytes != 0;
  struct complaint {
    static_assert(Blocks != 0, "tarn: [G1] fixed_growth<0>: chunks of no blocks; give at least 1");
    static_assert(Cap != 0 && Bytes != 0,
                  "tarn: [G2] a growth policy with a cap of 0 blocks: the pool could never hand one out; give at least 1");
  };
  static constexpr growth_traits traits{};

  constexpr detail::chunk_request next_chunk(std::size_t, std::size_t total, std::size_t stride) const noexcept {
    const std::size_t blocks = detail::smaller(Blocks, detail::room_under_cap(total, Cap, Bytes, stride));
    return {blocks, blocks};
  }
};

}  // namespace tarn

#endif  // TARN_POLICIES_GROWTH_FIXED_GROWTH_H_

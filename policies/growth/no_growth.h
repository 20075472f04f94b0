// decides    one chunk of Blocks blocks, and never another
// costs      nothing: the chunk's record lies in the pool itself, so the store's bytes are all blocks
// conflicts  no_growth<> (no number) with a store that has no end
// use when   the number of blocks is a hard limit; bounded stores imply it
#ifndef TARN_POLICIES_GROWTH_NO_GROWTH_H_
#define TARN_POLICIES_GROWTH_NO_GROWTH_H_

#include <cstddef>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/growth/traits.h"

namespace tarn {

/// \tparam Blocks  in the one chunk; natural: as many as a bounded store has room for. A bounded store with less room gives
///                 what it has
template <std::size_t Blocks = natural>
struct no_growth {
  using axis = tarn::axis::growth;
  static constexpr growth_traits traits{.max_chunks = 1, .needs_bounded_store = Blocks == natural};

  constexpr detail::chunk_request next_chunk(std::size_t, std::size_t total, std::size_t) const noexcept {
    if (total != 0) return {};
    if (Blocks == natural) return {1, unlimited};
    return {Blocks, Blocks};
  }
};

}  // namespace tarn

#endif  // TARN_POLICIES_GROWTH_NO_GROWTH_H_

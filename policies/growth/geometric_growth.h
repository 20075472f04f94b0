// decides    each chunk holds Factor times the blocks of the one before, from First up to Max: 64, 128, 256, … 4096, 4096 …
// costs      a few calls to the store in all; unused memory, untouched: with a factor of 2, fewer blocks than are used and
//            First together, and fewer than Max
// conflicts  bounded stores (static_array_store, buffer_store), which have one chunk
// use when   nothing is known about the number of blocks (the default)
#ifndef TARN_POLICIES_GROWTH_GEOMETRIC_GROWTH_H_
#define TARN_POLICIES_GROWTH_GEOMETRIC_GROWTH_H_

#include <cstddef>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/growth/detail/cap.h"
#include "tarn/policies/growth/traits.h"

namespace tarn {

/// \tparam First   blocks in the first chunk; natural: as many as fit into 4 KiB, at least 1
/// \tparam Max     blocks in the largest chunk; natural: as many as fit into 4 MiB, at least 1
/// \tparam Factor  from one chunk to the next, at least 2
/// \tparam Cap     blocks in all chunks together
/// \tparam Bytes   bytes of all these blocks together, with what the other axes add to each; records of chunks not counted
/// If the store refuses a chunk, half of it is tried, down to the first one's size. A region larger than requested (page_store
/// gives such) is used to the end, within the cap. A pool that has given all chunks back starts again with First.
template <std::size_t First = natural, std::size_t Max = natural, std::size_t Factor = 2, std::size_t Cap = unlimited,
          std::size_t Bytes = unlimited>
struct geometric_growth {
  using axis = tarn::axis::growth;
  static constexpr bool arguments_hold = Factor >= 2 && (Max == natural || First <= Max) && Cap != 0 && Bytes != 0;
  struct complaint {
    static_assert(Factor >= 2,
                  "tarn: [G3] geometric_growth with a factor under 2 doesn't grow; use fixed_growth<Blocks>, or a factor of 2");
    static_assert(Max == natural || First <= Max,
                  "tarn: [G4] geometric_growth whose first chunk is larger than its largest; swap First and Max");
    static_assert(Cap != 0 && Bytes != 0,
                  "tarn: [G2] a growth policy with a cap of 0 blocks: the pool could never hand one out; give at least 1");
  };
  static constexpr growth_traits traits{};

  constexpr detail::chunk_request next_chunk(std::size_t last, std::size_t total, std::size_t stride) const noexcept {
    const std::size_t first = First != natural ? First : detail::larger(1, first_bytes / stride);
    const std::size_t left = detail::room_under_cap(total, Cap, Bytes, stride);
    std::size_t next = first;
    if (total != 0) {
      const std::size_t largest = detail::larger(first, Max != natural ? Max : max_bytes / stride);
      next = detail::smaller(detail::multiply(last, Factor), largest);
    }
    return {detail::smaller(next, left), left, detail::smaller(first, left)};
  }

 private:
  static constexpr std::size_t first_bytes = 4 * 1024;
  static constexpr std::size_t max_bytes = 4 * 1024 * 1024;
};

}  // namespace tarn

#endif  // TARN_POLICIES_GROWTH_GEOMETRIC_GROWTH_H_

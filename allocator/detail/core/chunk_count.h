// How many chunks there are, and how many blocks were ever handed out: each for a pool that asks.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_CHUNK_COUNT_H_
#define TARN_ALLOCATOR_DETAIL_CORE_CHUNK_COUNT_H_

#include <cstddef>
#include <type_traits>

#include "tarn/policies/platform/config.h"

namespace tarn::detail {

struct counted {
  TARN_STEP void add(std::size_t n) noexcept { value += n; }
  TARN_STEP void subtract(std::size_t n) noexcept { value -= n; }
  std::size_t value = 0;
};
/// \tparam What  tells two members of one object apart, so that neither takes space
template <int What>
struct uncounted {
  TARN_STEP void add(std::size_t) noexcept {}
  TARN_STEP void subtract(std::size_t) noexcept {}
};

/// \tparam Number, Carved  whether they are counted
template <bool Number, bool Carved>
struct chunk_count {
  /// A chunk with so many blocks that were handed out comes or goes.
  TARN_STEP void enter(std::size_t blocks) noexcept {
    number.add(1);
    carved.add(blocks);
  }
  TARN_STEP void leave(std::size_t blocks) noexcept {
    number.subtract(1);
    carved.subtract(blocks);
  }

  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Number, counted, uncounted<0>> number;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Carved, counted, uncounted<1>> carved;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_CHUNK_COUNT_H_

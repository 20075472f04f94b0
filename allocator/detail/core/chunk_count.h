// How many chunks there are, and how many blocks were ever handed out, for a pool that asks.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_CHUNK_COUNT_H_
#define TARN_ALLOCATOR_DETAIL_CORE_CHUNK_COUNT_H_

#include <cstddef>

#include "tarn/policies/platform/config.h"

namespace tarn::detail {

struct counted {
  TARN_STEP void add(std::size_t n) noexcept { value += n; }
  TARN_STEP void subtract(std::size_t n) noexcept { value -= n; }
  std::size_t value = 0;
};
/// \tparam What  tells two members of one object apart, so that neither takes space
template <class What>
struct uncounted {
  TARN_STEP void add(std::size_t) noexcept {}
  TARN_STEP void subtract(std::size_t) noexcept {}
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_CHUNK_COUNT_H_

// How many chunks there are, for a pool that asks.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_CHUNK_COUNT_H_
#define TARN_ALLOCATOR_DETAIL_CORE_CHUNK_COUNT_H_

#include <cstddef>

#include "tarn/policies/platform/config.h"

namespace tarn::detail {

struct counted_chunks {
  TARN_STEP void change(int by) noexcept { value += static_cast<std::size_t>(by); }
  std::size_t value = 0;
};
struct uncounted_chunks {
  TARN_STEP void change(int) noexcept {}
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_CHUNK_COUNT_H_

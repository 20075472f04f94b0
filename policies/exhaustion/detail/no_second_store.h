// The second store of an exhaustion policy that has none: it refuses.
#ifndef TARN_POLICIES_EXHAUSTION_DETAIL_NO_SECOND_STORE_H_
#define TARN_POLICIES_EXHAUSTION_DETAIL_NO_SECOND_STORE_H_

#include <cstddef>

#include "tarn/policies/detail/protocol.h"

namespace tarn::detail {

struct no_second_store {
  constexpr chunk_request next_chunk(std::size_t, std::size_t, std::size_t) const noexcept { return {}; }
  constexpr memory acquire(std::size_t, std::size_t) noexcept { return {}; }
  constexpr void release(memory, std::size_t) noexcept {}
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_EXHAUSTION_DETAIL_NO_SECOND_STORE_H_

// The hard limit of a growth policy.
#ifndef TARN_POLICIES_GROWTH_DETAIL_CAP_H_
#define TARN_POLICIES_GROWTH_DETAIL_CAP_H_

#include <cstddef>

#include "tarn/policies/detail/arithmetic.h"

namespace tarn::detail {

/// How many blocks may be added to `total`: at most `cap` in all, whose strides take at most `bytes`.
constexpr std::size_t room_under_cap(std::size_t total, std::size_t cap, std::size_t bytes, std::size_t stride) noexcept {
  const std::size_t most = bytes == static_cast<std::size_t>(-1) ? cap : smaller(cap, bytes / stride);
  return most - smaller(most, total);
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_GROWTH_DETAIL_CAP_H_

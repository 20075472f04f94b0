// std::exchange and std::swap for what is copied as easily as a pointer. <utility> would be a tenth of what pool.h brings, and
// looks up two traits of each type.
#ifndef TARN_POLICIES_DETAIL_REPLACE_H_
#define TARN_POLICIES_DETAIL_REPLACE_H_

#include <type_traits>

#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// Puts a value in a place. Returns what was there.
template <class T>
TARN_STEP constexpr T replace(T& place, std::type_identity_t<T> value) noexcept {
  const T old = place;
  place = value;
  return old;
}

/// Each place gets what was in the other. The places are found once.
template <class T>
TARN_STEP constexpr void swap_both(T& one, T& other) noexcept {
  const T was = one;
  one = other;
  other = was;
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_REPLACE_H_

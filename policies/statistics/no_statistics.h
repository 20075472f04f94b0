// decides    nothing is counted
// costs      nothing; one counter in memory makes a pair of calls take 2.5 times as long
// conflicts  none
// use when   the figures are not needed (the default)
#ifndef TARN_POLICIES_STATISTICS_NO_STATISTICS_H_
#define TARN_POLICIES_STATISTICS_NO_STATISTICS_H_

#include <cstddef>

#include "tarn/policies/platform/config.h"
#include "tarn/policies/statistics/traits.h"

namespace tarn {

struct no_statistics {
  using axis = tarn::axis::statistics;
  static constexpr statistics_traits traits{.hears_blocks = false};

  template <class Traits>
  struct state {
    static constexpr bool counts = false;
    constexpr explicit state(const no_statistics&) noexcept {}
    TARN_STEP constexpr void on_allocate(std::size_t) noexcept {}
    TARN_STEP constexpr void on_deallocate(std::size_t) noexcept {}
    constexpr void on_chunk(std::size_t) noexcept {}
    constexpr void off_chunk(std::size_t) noexcept {}
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_STATISTICS_NO_STATISTICS_H_

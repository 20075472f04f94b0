// decides    a pool that can't get another chunk reports it: allocate() throws std::bad_alloc, try_allocate() returns null
// costs      nothing
// conflicts  none
// use when   the caller knows best what to do (the default)
#ifndef TARN_POLICIES_EXHAUSTION_REPORT_EXHAUSTION_H_
#define TARN_POLICIES_EXHAUSTION_REPORT_EXHAUSTION_H_

#include <cstddef>

#include "tarn/policies/exhaustion/detail/no_second_store.h"
#include "tarn/policies/exhaustion/traits.h"

namespace tarn {

struct report_exhaustion {
  using axis = tarn::axis::exhaustion;
  static constexpr exhaustion_traits traits{.retries = false};

  template <class Traits>
  struct state : detail::no_second_store {
    constexpr explicit state(const report_exhaustion&) noexcept {}
    constexpr bool retry(std::size_t) noexcept { return false; }
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_EXHAUSTION_REPORT_EXHAUSTION_H_

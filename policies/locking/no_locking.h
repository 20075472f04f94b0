// decides    nothing is locked: one thread at a time uses the pool
// costs      nothing
// conflicts  none
// use when   the pool belongs to one thread, or the caller locks (the default)
#ifndef TARN_POLICIES_LOCKING_NO_LOCKING_H_
#define TARN_POLICIES_LOCKING_NO_LOCKING_H_

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking/detail/direct_calls.h"
#include "tarn/policies/locking/traits.h"
#include "tarn/policies/platform/config.h"

namespace tarn {

struct no_locking {
  using axis = tarn::axis::locking;
  static constexpr locking_traits traits{.one_thread = true};
  template <class T>
  using cell = T;
  template <class Traits>
  using per_chunk = detail::no_column<axis>;

  struct guards {
    static constexpr bool can_try = false;
    static constexpr detail::growth_again again = detail::growth_again::nests;
    TARN_STEP detail::no_guard hot() const noexcept { return {}; }
    TARN_STEP detail::no_guard growth() const noexcept { return {}; }
    TARN_STEP static void end() noexcept {}
  };
  template <class Traits>
  using state = detail::direct_calls<guards>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_NO_LOCKING_H_

// decides    nothing is checked: misuse is undefined behaviour, as with operator delete
// costs      nothing
// conflicts  none
// use when   the program is known to be correct, and every instruction counts (the default)
#ifndef TARN_POLICIES_CHECKING_NO_CHECKING_H_
#define TARN_POLICIES_CHECKING_NO_CHECKING_H_

#include <cstddef>

#include "tarn/policies/checking/traits.h"
#include "tarn/policies/detail/protocol.h"

namespace tarn {

struct no_checking {
  using axis = tarn::axis::checking;
  static constexpr checking_traits traits{};

  template <class Traits>
  using per_chunk = detail::no_column<axis>;

  template <class Traits>
  struct state {
    constexpr explicit state(const no_checking&) noexcept {}
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_CHECKING_NO_CHECKING_H_

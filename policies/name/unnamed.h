// decides    the pool has no name, and isn't in the registry
// costs      nothing
// conflicts  none
// use when   nobody looks at the pool from outside (the default)
#ifndef TARN_POLICIES_NAME_UNNAMED_H_
#define TARN_POLICIES_NAME_UNNAMED_H_

#include "tarn/policies/name/traits.h"

namespace tarn {

struct unnamed {
  using axis = tarn::axis::name;
  static constexpr name_traits traits{};

  struct state {
    constexpr explicit state(const unnamed&) noexcept {}
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_NAME_UNNAMED_H_

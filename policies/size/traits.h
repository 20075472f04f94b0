// What policies of the axis size say of themselves, each in one object, `traits`. A trait promises what its comment names; what
// a policy has and does not say is refused.
#ifndef TARN_POLICIES_SIZE_TRAITS_H_
#define TARN_POLICIES_SIZE_TRAITS_H_

#include "tarn/policies/axis.h"

namespace tarn {

/// What a size policy says of itself.
struct size_traits {
  bool at_run_time = false;  // bytes() and alignment() are known when the pool is made, not when it is compiled
};

}  // namespace tarn

#endif  // TARN_POLICIES_SIZE_TRAITS_H_

// What policies of the axis size declare about themselves, each in one object, `traits`. A trait promises the member that its
// comment names; a member without its trait is refused.
#ifndef TARN_POLICIES_SIZE_TRAITS_H_
#define TARN_POLICIES_SIZE_TRAITS_H_

#include "tarn/policies/axis.h"

namespace tarn {

/// What a size policy declares about itself.
struct size_traits {
  bool at_run_time = false;  // bytes() and alignment() are known when the pool is made, not when it is compiled
};

}  // namespace tarn

#endif  // TARN_POLICIES_SIZE_TRAITS_H_

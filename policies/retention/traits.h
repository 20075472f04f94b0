// What policies of the axis retention say of themselves, each in one object, `traits`. A trait promises what its comment names;
// what a policy has and does not say is refused.
#ifndef TARN_POLICIES_RETENTION_TRAITS_H_
#define TARN_POLICIES_RETENTION_TRAITS_H_

#include "tarn/policies/axis.h"

namespace tarn {

/// What a retention policy says of itself.
struct retention_traits {
  bool returns_chunks = false;  // it gives chunks back by itself
};

}  // namespace tarn

#endif  // TARN_POLICIES_RETENTION_TRAITS_H_

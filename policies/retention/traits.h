// What policies of the axis retention declare about themselves, each in one object, `traits`. A trait promises the member that
// its comment names; a member without its trait is refused.
#ifndef TARN_POLICIES_RETENTION_TRAITS_H_
#define TARN_POLICIES_RETENTION_TRAITS_H_

#include "tarn/policies/axis.h"

namespace tarn {

/// What a retention policy declares about itself.
struct retention_traits {
  bool returns_chunks = false;  // it gives chunks back automatically
  bool tells_surplus = false;   // has_surplus(): whether too many are free now, for maintain()
};

}  // namespace tarn

#endif  // TARN_POLICIES_RETENTION_TRAITS_H_

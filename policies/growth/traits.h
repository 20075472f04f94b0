// What policies of the axis growth say of themselves, each in one object, `traits`. A trait promises what its comment names;
// what a policy has and does not say is refused.
#ifndef TARN_POLICIES_GROWTH_TRAITS_H_
#define TARN_POLICIES_GROWTH_TRAITS_H_

#include <cstddef>

#include "tarn/policies/axis.h"

namespace tarn {

/// What a growth policy says of itself.
struct growth_traits {
  std::size_t max_chunks = unlimited;  // that one pool can come to own
  bool needs_bounded_store = false;    // there is no number in it: only a store that has an end can say how many
};

}  // namespace tarn

#endif  // TARN_POLICIES_GROWTH_TRAITS_H_

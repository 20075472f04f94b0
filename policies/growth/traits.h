// What policies of the axis growth declare about themselves, each in one object, `traits`. A trait promises the member that its
// comment names; a member without its trait is refused.
#ifndef TARN_POLICIES_GROWTH_TRAITS_H_
#define TARN_POLICIES_GROWTH_TRAITS_H_

#include <cstddef>

#include "tarn/policies/axis.h"

namespace tarn {

/// What a growth policy declares about itself.
struct growth_traits {
  std::size_t max_chunks = unlimited;  // the most chunks that a pool can have at once
  bool needs_bounded_store = false;    // the policy names no number of blocks: a bounded store determines it
  bool grows_ahead = false;            // watermark() and fill(): how many blocks maintain() keeps ready, and how
};

}  // namespace tarn

#endif  // TARN_POLICIES_GROWTH_TRAITS_H_

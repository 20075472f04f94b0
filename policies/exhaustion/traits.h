// What policies of the axis exhaustion declare about themselves, each in one object, `traits`. A trait promises the member that
// its comment names; a member without its trait is refused.
#ifndef TARN_POLICIES_EXHAUSTION_TRAITS_H_
#define TARN_POLICIES_EXHAUSTION_TRAITS_H_

#include <cstddef>

#include "tarn/policies/axis.h"

namespace tarn {

/// What an exhaustion policy declares about itself.
struct exhaustion_traits {
  std::size_t extra_chunks = 0;             // that come from a second store of its own
  bool store_is_sized_by_geometry = false;  // that store's region is computed when the pool is compiled
  bool retries = true;                      // retry() may say: look again. false: whoever finds nothing goes without
  bool has_end = false;                     // end(): the pool ends
  bool keeps_attempt = false;               // a type `attempt`: what it keeps for one allocation, which retry() is given
  bool hears_frees = false;                 // freed(blocks): so many were given back
  bool reclaims = false;  // member(): what others ask the pool through. retry() comes only after the store refused
};

}  // namespace tarn

#endif  // TARN_POLICIES_EXHAUSTION_TRAITS_H_

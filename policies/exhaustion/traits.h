// What policies of the axis exhaustion declare about themselves, each in one object, `traits`. A trait promises the member that
// its comment names; a member without its trait is refused.
#ifndef TARN_POLICIES_EXHAUSTION_TRAITS_H_
#define TARN_POLICIES_EXHAUSTION_TRAITS_H_

#include <cstddef>

#include "tarn/policies/axis.h"

namespace tarn {

/// What an exhaustion policy declares about itself.
struct exhaustion_traits {
  std::size_t extra_chunks = 0;             // the most chunks from the policy's own second store
  bool store_is_sized_by_geometry = false;  // that store's region is computed when the pool is compiled
  bool store_is_bounded = false;            // that store has only one region
  bool retries = true;                      // retry() may ask the pool to try again; false: an allocation that finds nothing
                                            // fails at once
  bool has_end = false;                     // end(): called when the pool ends
  bool keeps_attempt = false;               // a type `attempt`: state for one allocation, which retry() is given
  bool tells_later = false;                 // tell(): called after that store was asked, at the end of the operation, with
                                            // nothing held
  bool hears_frees = false;                 // freed(blocks): that many blocks were freed, and can be had
  bool waits = false;                       // line(): the threads that wait for a block; nanoseconds(): how long a call waits
  bool hears_asks = false;                  // asked(): another pool asked this one to trim, which it does next
  bool reclaims = false;  // member(): through which other pools ask this one. retry() is called only after the store refused

  /// Whether it needs a locking policy under which a freed block is there for every thread.
  constexpr bool needs_frees() const noexcept { return hears_frees || waits; }
  /// Whether there is a second store.
  constexpr bool has_second() const noexcept { return extra_chunks != 0; }
};

}  // namespace tarn

#endif  // TARN_POLICIES_EXHAUSTION_TRAITS_H_

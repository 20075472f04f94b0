// What policies of the axis statistics declare about themselves, each in one object, `traits`. A trait promises the member that
// its comment names; a member without its trait is refused.
#ifndef TARN_POLICIES_STATISTICS_TRAITS_H_
#define TARN_POLICIES_STATISTICS_TRAITS_H_

#include "tarn/policies/axis.h"

namespace tarn {

/// What a statistics policy declares about itself.
struct statistics_traits {
  bool counts = false;         // read(): what statistics() of the pool returns
  bool hears_blocks = true;    // on_allocate() and on_deallocate() do something
  bool can_try = false;        // try_on_allocate(), try_on_deallocate(): whether a hit was counted; if not, the others do
  bool hears_release = false;  // on_release(): all blocks are released, including those in use
  bool hears_events = false;   // on_event(): each block and chunk with its address, refusals, and the release of all blocks
};

}  // namespace tarn

#endif  // TARN_POLICIES_STATISTICS_TRAITS_H_

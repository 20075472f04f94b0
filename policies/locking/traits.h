// What policies of the axis locking declare about themselves, each in one object, `traits`. A trait promises the member that
// its comment names; a member without its trait is refused.
#ifndef TARN_POLICIES_LOCKING_TRAITS_H_
#define TARN_POLICIES_LOCKING_TRAITS_H_

#include <cstddef>

#include "tarn/policies/axis.h"

namespace tarn {

/// What a locking policy declares about itself.
struct locking_traits {
  bool may_return_chunks = true;  // no reader can still look into a chunk that was given back
  bool needs_identity = false;    // a static pool passes its tag on, as Traits::identity
  bool keeps_memory = false;      // its machinery needs memory from the store for itself
  bool can_forget = false;        // forget_if_alone(): it gives up that memory, unless another thread has a part of it
  bool keeps_blocks = false;      // threads keep free blocks that others can't reach
  bool own_free_list = false;     // the list only carves
  bool one_thread = false;        // nothing is locked: one thread owns the pool
  bool has_owner = false;         // owner(): the number of the thread that owns all pools of the policy
  bool can_wait = false;          // a freed block is visible to every thread at once, so a thread can wait for one
  bool can_try = false;           // try_growth_guard(): a growth guard that doesn't wait, and converts to bool
  bool has_tally = false;         // tally: how it counts blocks itself, instead of in a few cells
  bool compares_and_swaps = false;  // it needs a processor that can
  bool tag_comes_round = false;   // and is right only for interrupts of one core, which end before what they interrupt goes on
  std::size_t most_blocks = unlimited;  // that it can tell apart
  bool ends_at_exit = false;      // it has a static object whose destructor runs at exit
};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_TRAITS_H_

// What policies of the axis locking declare about themselves, each in one object, `traits`. A trait promises the member that
// its comment names; a member without its trait is refused.
#ifndef TARN_POLICIES_LOCKING_TRAITS_H_
#define TARN_POLICIES_LOCKING_TRAITS_H_

#include "tarn/policies/axis.h"

namespace tarn {

/// What a locking policy declares about itself.
struct locking_traits {
  bool may_return_chunks = true;  // no reader can still look into a chunk that was given back
  bool needs_identity = false;    // a static pool passes its tag into the traits
  bool keeps_memory = false;      // it asks the store for memory of its own
  bool keeps_blocks = false;      // threads keep free blocks that others can't get at
  bool own_free_list = false;     // the list only carves
  bool one_thread = false;        // nothing is locked: one thread owns the pool
  bool has_owner = false;         // owner(): all pools that share one thread, its number
  bool can_wait = false;          // who looks after a block was given back sees it: a thread can wait for one
  bool can_try = false;           // try_growth_guard(): a growth_guard that doesn't wait, and converts to bool
  bool ends_at_exit = false;      // it has a static object whose destructor runs at exit
};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_TRAITS_H_

// decides    free blocks lie on a lock-free stack: no thread waits for one that is suspended mid-operation
// costs      a compare-and-swap to allocate a block and one to free it, all on one cache line: 20 ns uncontended, as slow as a
//            mutex under contention. 4 bytes a block, in front of the chunk's blocks
// conflicts  reuse policies, since the stack is one; returning chunks, since other threads may still read them: trim() and
//            release() don't exist
// use when   a high-priority thread, or a signal handler, frees blocks that others allocate. For speed: thread_cached
#ifndef TARN_POLICIES_LOCKING_LOCK_FREE_H_
#define TARN_POLICIES_LOCKING_LOCK_FREE_H_

#include "tarn/policies/detail/shared_cell.h"
#include "tarn/policies/locking/detail/block_numbers.h"
#include "tarn/policies/locking/detail/stack_calls.h"
#include "tarn/policies/locking/mutex_locking.h"
#include "tarn/policies/locking/traits.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/reuse/lifo_reuse.h"

namespace tarn {

/// A free never waits. An allocation takes a mutex when it hands out blocks that were never used before, once for 32 of them,
/// and waits for the store when the pool grows.
struct lock_free {
  using axis = tarn::axis::locking;
  using implies = lifo_reuse<>;
  static constexpr locking_traits traits{
      .may_return_chunks = false, .keeps_memory = true, .own_free_list = true, .compares_and_swaps = true};
  template <class T>
  using cell = detail::shared_cell<T>;
  template <class Traits>
  using per_chunk = detail::numbered_column<detail::atomic_word>;
  template <class Traits>
  using state = detail::stack_calls<Traits, detail::mutex_pair<mutex>, detail::atomic_word>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_LOCK_FREE_H_

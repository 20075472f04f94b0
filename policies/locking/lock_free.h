// decides    free blocks lie on a lock-free stack: no thread waits for one that was stopped in the middle
// costs      a compare-and-swap to take a block and one to give it back, all on one cache line: 20 ns alone, as slow as a mutex
//            under contention. 4 bytes a block, in front of the chunk's blocks
// conflicts  reuse policies, since the stack is one; returning chunks, since other threads may still look into them: trim()
//            and release() don't exist
// use when   a thread of high priority, or a signal handler, gives blocks back that others take. For speed: thread_cached
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

/// A free never waits for anything. An allocation takes a mutex where it is handed a block that was never used before, once
/// for 32 of them, and waits for the store where the pool grows.
struct lock_free {
  using axis = tarn::axis::locking;
  using implies = lifo_reuse<>;
  static constexpr locking_traits traits{.may_return_chunks = false, .keeps_memory = true, .own_free_list = true};
  template <class T>
  using cell = detail::shared_cell<T>;
  template <class Traits>
  using per_chunk = detail::numbered_column<detail::atomic_word>;
  template <class Traits>
  using state = detail::stack_calls<Traits, detail::mutex_pair<mutex>, detail::atomic_word>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_LOCK_FREE_H_

// decides    free blocks lie on a lock-free stack: no thread waits for one that is suspended mid-operation
// costs      a compare-and-swap to allocate a block and one to free it, all on one cache line: 20 ns uncontended, as slow as a
//            mutex under contention. 4 bytes a block, or 2, in front of the chunk's blocks
// conflicts  reuse policies, since the stack is one; returning chunks, since other threads may still read them: trim() and
//            release() don't exist
// use when   a high-priority thread, or a signal handler, frees blocks that others allocate. For speed: thread_cached
#ifndef TARN_POLICIES_LOCKING_LOCK_FREE_H_
#define TARN_POLICIES_LOCKING_LOCK_FREE_H_

#include <cstdint>
#include <type_traits>

#include "tarn/policies/detail/shared_cell.h"
#include "tarn/policies/locking/detail/block_numbers.h"
#include "tarn/policies/locking/detail/interrupt_guards.h"
#include "tarn/policies/locking/detail/stack_calls.h"
#include "tarn/policies/locking/mutex_locking.h"
#include "tarn/policies/locking/traits.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/interrupt_mask.h"
#include "tarn/policies/platform/system.h"
#include "tarn/policies/reuse/lifo_reuse.h"

namespace tarn {

namespace detail {
/// For carving and for growth: without threads, interrupts are all that could come in between.
template <class Traits>
using stack_guards = std::conditional_t<!platform::system::has_threads && masks_interrupts<interrupt_mask>,
                                        interrupt_guards<interrupt_mask>, mutex_pair<mutex, fork_member_in<Traits>>>;

/// \tparam Head  the stack's word
template <class Head>
struct stack_locking {
  using axis = tarn::axis::locking;
  using implies = lifo_reuse<>;
  static constexpr bool is_narrow = sizeof(Head) < 8;
  static constexpr locking_traits traits{.may_return_chunks = false,
                                         .keeps_memory = true,
                                         .own_free_list = true,
                                         .compares_and_swaps = true,
                                         .tag_comes_round = is_narrow,
                                         .most_blocks = is_narrow ? 0xFFFF : unlimited};
  template <class T>
  using cell = shared_cell<T>;
  template <class Traits>
  using per_chunk = numbered_column<atomic_word, half_of<Head>>;
  template <class Traits>
  using state = stack_calls<Traits, stack_guards<Traits>, atomic_word, Head>;
};
}  // namespace detail

/// A free never waits. An allocation takes a mutex when it hands out blocks that were never used before, once for 32 of them,
/// and waits for the store when the pool grows. Without threads, it masks interrupts instead. Where the processor exchanges
/// only 32 bits at once, a pool has at most 65,535 blocks, and only interrupts may use it at the same time.
struct lock_free : detail::stack_locking<std::conditional_t<platform::has_wide_atomics, std::uint64_t, std::uint32_t>> {};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_LOCK_FREE_H_

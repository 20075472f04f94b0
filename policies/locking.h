// Axis locking: who may use the pool at once. A locking policy is a layer over a core that is written for one thread.
#ifndef TARN_POLICIES_LOCKING_H_
#define TARN_POLICIES_LOCKING_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/stand_in.h"
#include "tarn/policies/locking/grouped_locking.h"
#include "tarn/policies/locking/mutex_locking.h"
#include "tarn/policies/locking/no_locking.h"
#include "tarn/policies/locking/spin_mutex.h"
#include "tarn/policies/locking/thread_aware_mutex.h"

namespace tarn {

/// Everything that the pool uses of a locking policy. The machinery is `layer<Core>`, which owns the core.
///   may_return_chunks           no reader can still look into a chunk that was given back
///   needs_identity              a static pool passes its tag into the environment
///   cell<T>                     a number that hooks may change where they run: plain, or atomic
///   per_chunk<Environment>      its column
///   guard()                     held around pop, push, batches and hooks; may guard nothing
///   core_guard(), grow_guard()  held around the core, and around the store. Order: grow_guard, then core_guard
///   pop(), pop_slow()           a block, or null: nothing ready; nothing without a further chunk
///   push(), push_slow()         `full`: the slow half must take it; `surplus`: taken, and chunks may go back
///   make_room()                 after a push that answered `crowded`
///   pop_batch(), push_batch()   many at once; pop_batch returns how many it got
///   drain()                     gives blocks that the calling thread keeps in front of the core back to it
template <class P>
concept locking_policy = policy_on<P, axis::locking> && requires {
  { P::may_return_chunks } -> std::convertible_to<bool>;
  { P::needs_identity } -> std::convertible_to<bool>;
  typename P::template cell<std::size_t>;
  requires detail::column<typename P::template per_chunk<detail::stand_in>>;
  typename P::template layer<detail::stand_in::core>;
} && requires(typename P::template layer<detail::stand_in::core>& layer, void* block, void** out, void* const* in,
              std::size_t n) {
  layer.guard();
  { layer.pop() } noexcept -> std::same_as<void*>;
  { layer.pop_slow() } noexcept -> std::same_as<void*>;
  { layer.push(block) } noexcept -> std::same_as<detail::outcome>;
  { layer.push_slow(block) } noexcept -> std::same_as<detail::outcome>;
  { layer.make_room() } noexcept -> std::same_as<void>;
  { layer.pop_batch(out, n) } noexcept -> std::same_as<std::size_t>;
  { layer.push_batch(in, n) } noexcept -> std::same_as<detail::outcome>;
  { layer.drain() } noexcept -> std::same_as<void>;
  { layer.core() } noexcept -> std::same_as<detail::stand_in::core&>;
} && requires(const typename P::template layer<detail::stand_in::core>& layer) {  // of a pool that is only looked at
  layer.core_guard();
  layer.grow_guard();
  { layer.core() } noexcept -> std::same_as<const detail::stand_in::core&>;
};

/// What products take that any thread may use, unless they are told otherwise: DECLARE_MEMORY_POOL, stl_allocator, xmalloc.
using shared_locking = mutex_locking<thread_aware_mutex>;

static_assert(locking_policy<shared_locking> && locking_policy<no_locking> && locking_policy<mutex_locking<>> && locking_policy<grouped_locking<struct group>> &&
              locking_policy<grouped_locking<struct group, std::mutex>>);

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_H_

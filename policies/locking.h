// Axis locking: who may use the pool at once. A locking policy is a layer over a core that is written for one thread.
#ifndef TARN_POLICIES_LOCKING_H_
#define TARN_POLICIES_LOCKING_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/stand_in.h"
#include "tarn/policies/locking/grouped_locking.h"
#include "tarn/policies/locking/lock_free.h"
#include "tarn/policies/locking/mutex_locking.h"
#include "tarn/policies/locking/no_locking.h"
#include "tarn/policies/locking/spin_mutex.h"
#include "tarn/policies/locking/thread_aware_mutex.h"
#include "tarn/policies/locking/thread_cached.h"
#include "tarn/policies/locking/traits.h"

namespace tarn {

/// Everything that the pool uses of a locking policy beside its traits.
/// The machinery is `layer<Core>`, which owns the core.
///   cell<T>                     a number that hooks may change where they run: plain, or atomic
///   per_chunk<Environment>      its column
///   guard()                     held around pop, push, batches and hooks; may guard nothing
///   core_guard(), grow_guard()  held around the core, and around the store. Order: grow_guard, then core_guard
///   pop(), pop_slow()           a block, or null: nothing ready; nothing without a further chunk
///   push(), push_slow()         `full`: the slow half must take it; `surplus`: taken, and chunks may go back
///   make_room()                 after a push that answered `crowded`
///   pop_batch(), push_batch()   many at once; pop_batch returns how many it got
///   drain()                     gives the blocks in front of the core back to it that the calling thread can get at
///   drain_all()                 all of them; nobody else uses the pool
///   shortage(fresh)             bytes that the layer lacks for itself, to adopt a list of fresh chunks or, null, to go on; 0:
///                               none. Asked with the growth guard held, until it is 0 or the store refuses
///   supply(memory)              that many bytes, from the pool's store, until drop_all(); null: the store refused
///   expect(n)                   n blocks were reserved: shortage() says what the calling thread will lack to go on with them
///   starves()                   a slow operation left it with a shortage
///   adopt(chunk)                under the core guard: the core's adopt(), and what the layer has to know of a chunk
///   drop_all()                  every chunk goes, with what the layer was supplied; nobody else uses the pool
///   end()                       nothing outside the pool may refer to it any more: it ends, or is as new
/// It may say more:
///   implies                     the reuse policy that it goes with
template <class P>
concept locking_policy = policy_on<P, axis::locking> && requires {
  requires std::same_as<decltype(P::traits), const locking_traits>;
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
  { layer.make_room() } noexcept -> std::same_as<detail::outcome>;
  { layer.pop_batch(out, n) } noexcept -> std::same_as<std::size_t>;
  { layer.push_batch(in, n) } noexcept -> std::same_as<detail::outcome>;
  { layer.drain() } noexcept -> std::same_as<void>;
  { layer.drain_all() } noexcept -> std::same_as<void>;
  { layer.drop_all() } noexcept -> std::same_as<void>;
  { layer.end() } noexcept -> std::same_as<void>;
  { layer.supply(detail::memory{}) } noexcept -> std::same_as<void>;
  { layer.core() } noexcept -> std::same_as<detail::stand_in::core&>;
} && requires(typename P::template layer<detail::stand_in::core>& layer, detail::stand_in::chunk& chunk) {
  { layer.adopt(chunk) } noexcept -> std::same_as<void>;
  { layer.shortage(&chunk) } noexcept -> std::same_as<std::size_t>;
  { layer.starves() } noexcept -> std::same_as<bool>;
  { layer.expect(std::size_t{}) } noexcept -> std::same_as<void>;
} && requires(const typename P::template layer<detail::stand_in::core>& layer) {  // of a pool that is only looked at
  layer.core_guard();
  layer.grow_guard();
  { layer.core() } noexcept -> std::same_as<const detail::stand_in::core&>;
} && detail::as_promised<P::traits.can_try, requires(const typename P::template layer<detail::stand_in::core>& layer) {
  static_cast<bool>(layer.try_grow_guard());
}> && detail::as_promised<P::traits.has_owner, requires {
  P::owner();
}>;

/// What products take that any thread may use, unless they are told otherwise: DECLARE_MEMORY_POOL, stl_allocator.
/// Where blocks may not wait in threads, as over a bounded store, mutex_locking<thread_aware_mutex> stands for it.
using shared_locking = thread_cached<>;

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_H_

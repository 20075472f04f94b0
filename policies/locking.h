// Axis locking: which threads may use the pool at the same time. A locking policy calls the free list, which is written for one
// thread.
#ifndef TARN_POLICIES_LOCKING_H_
#define TARN_POLICIES_LOCKING_H_

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking/grouped_locking.h"
#include "tarn/policies/locking/interrupt_locking.h"
#include "tarn/policies/locking/lock_free.h"
#include "tarn/policies/locking/mutex_locking.h"
#include "tarn/policies/locking/no_locking.h"
#include "tarn/policies/locking/spin_mutex.h"
#include "tarn/policies/locking/thread_aware_mutex.h"
#include "tarn/policies/locking/thread_cached.h"
#include "tarn/policies/locking/traits.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"

namespace tarn {

namespace detail {
template <class P, class Traits>
concept locking_members =
    requires(typename P::template state<Traits>& state, typename Traits::pool& pool, void* block, void** out, void* const* in,
             std::size_t n) {
      { state.pop(pool) } noexcept -> std::same_as<void*>;
      { state.pop_slow(pool) } noexcept -> std::same_as<void*>;
      { state.push(pool, block) } noexcept -> std::same_as<status>;
      { state.push_slow(pool, block) } noexcept -> std::same_as<status>;
      { state.make_room(pool) } noexcept -> std::same_as<status>;
      { state.pop_batch(pool, out, n) } noexcept -> std::same_as<std::size_t>;
      { state.push_batch(pool, in, n) } noexcept -> std::same_as<status>;
      { state.drain(pool) } noexcept -> std::same_as<void>;
      { state.drain_all(pool) } noexcept -> std::same_as<void>;
      { state.drop_all() } noexcept -> std::same_as<void>;
      { state.end() } noexcept -> std::same_as<void>;
      { state.supply(pool, memory{}) } noexcept -> std::same_as<void>;
    } &&
    requires(typename P::template state<Traits>& state, typename Traits::pool& pool, typename Traits::chunk& chunk) {
      { state.adopt(pool, chunk) } noexcept -> std::same_as<void>;
      { state.shortage(pool, detail::pointer_to(chunk)) } noexcept -> std::same_as<std::size_t>;
      { state.starves() } noexcept -> std::same_as<bool>;
      { state.expect(std::size_t{}) } noexcept -> std::same_as<void>;
    } && requires(const typename P::template state<Traits>& state) {  // of a const pool
      state.hit_guard();
      state.core_guard();
      state.growth_guard();
    } && as_promised<P::traits.can_try, requires(const typename P::template state<Traits>& state) {
      static_cast<bool>(state.try_growth_guard());
    }> && as_promised<P::traits.can_forget, requires(typename P::template state<Traits>& state) {
      { state.forget_if_alone() } noexcept -> std::same_as<bool>;
    }> && as_promised<P::traits.has_owner, requires { P::owner(); }> && as_promised<P::traits.has_tally, requires {
      typename P::tally;
    }> && (!Traits::is_listed || !(P::traits.keeps_blocks || P::traits.own_free_list) ||
           requires(const typename P::template state<Traits>& state, const typename Traits::pool& pool) {
             { state.waiting(pool) } noexcept -> std::same_as<std::size_t>;
           });
}  // namespace detail

/// Everything that the pool uses of a locking policy besides its traits.
/// The machinery is `state<Traits>`. It is given the pool, of which it uses `list` and `chunks`, written for one thread.
///   cell<T>                       a number that is safe for hooks to change where they run: plain, or atomic
///   per_chunk<Traits>             its column
///   hit_guard()                   held around pop, push, batches and hooks; may guard nothing
///   core_guard(), growth_guard()  held around list and chunks, and around the store. Order: growth_guard, then core_guard
///   pop(pool), pop_slow(pool)     a block, or null. pop(): none is ready; pop_slow(): none without a further chunk
///   push(pool, block), push_slow(pool, block)
///                                 `full`: the slow half must take it; `surplus`: taken, and chunks may go back
///   make_room(pool)               called after a push that returned `crowded`
///   pop_batch(pool, out, n), push_batch(pool, in, n)
///                                 many at once; pop_batch returns how many it got
///   drain(pool)                   gives back to the list those blocks in front of it that the calling thread can reach
///   drain_all(pool)               the same for all of them; no other thread uses the pool
///   shortage(pool, fresh)         bytes that the machinery needs to adopt a list of fresh chunks or, if null, to continue; 0:
///                                 none. Called with the growth guard held, until it is 0 or the store refuses
///   supply(pool, memory)          that many bytes from the pool's store, valid until drop_all(); null: the store refused
///   expect(n)                     n blocks were reserved: shortage() then returns what the calling thread will need for
///                                 them
///   waiting(pool)                 if the pool is in the registry, and threads keep blocks or the free list is its own: free
///                                 blocks that aren't in the list. Called under the core guard; other threads use the pool
///   starves()                     whether a slow operation left the machinery with a shortage
///   adopt(pool, chunk)            under the core guard: calls chunks.adopt(chunk, list), and records what the machinery must
///                                 know about a chunk. Not called if the blocks are an array in the pool and no axis has a
///                                 column
///   forget_if_alone()             optional: what was supplied goes, if no other thread has a part of it. Called under the core
///                                 guard when no chunk is left. Returns whether it went
///   drop_all()                    every chunk goes, with what was supplied; no other thread uses the pool
///   end()                         nothing outside the pool may refer to the machinery any more: the pool ends, or is as new
/// Optional members:
///   implies                       the reuse policy that is its default
///   tally                         counts blocks for a statistics policy: add(n), subtract(n); try_add() and
///                                 try_subtract() for one block in a hit, which say whether they did; settle(), in_use(),
///                                 peak(), allocations(). Without it a few cells do
template <class P>
concept locking_policy = policy_on<P, axis::locking> && detail::says<P, locking_traits> && requires {
  typename detail::template_name<P::template cell>;
  typename detail::template_name<P::template per_chunk>;
  typename detail::template_name<P::template state>;
};

/// The default of products that any thread may use: DECLARE_MEMORY_POOL, stl_allocator. If blocks may not wait in threads, as
/// over a bounded store, mutex_locking<thread_aware_mutex> takes its place. Without
/// threads, both are no_locking; where a thread has no variables of its own, this is mutex_locking<>.
using shared_locking = std::conditional_t<
    !platform::system::has_threads, no_locking,
    typename std::conditional_t<platform::system::has_thread_locals, std::type_identity<thread_cached<>>,
                                std::type_identity<mutex_locking<>>>::type>;

namespace detail {
using shared_locking_of_bounded =
    std::conditional_t<platform::system::has_threads, mutex_locking<thread_aware_mutex>, no_locking>;
}  // namespace detail

}  // namespace tarn

// A program that has included <mutex> has paid for it.
#include "tarn/policies/platform/included.h"
#if defined(TARN_MUTEX_IS_INCLUDED)
#include "tarn/policies/locking/group_guard.h"
#endif

#endif  // TARN_POLICIES_LOCKING_H_

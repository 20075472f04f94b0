// Axis statistics: what is counted.
#ifndef TARN_POLICIES_STATISTICS_H_
#define TARN_POLICIES_STATISTICS_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/statistics/counting_statistics.h"
#include "tarn/policies/statistics/no_statistics.h"
#include "tarn/policies/statistics/trace_event.h"
#include "tarn/policies/statistics/tracing_statistics.h"
#include "tarn/policies/statistics/traits.h"

namespace tarn {

namespace detail {
template <class P, class Traits>
concept statistics_members = requires(typename P::template state<Traits>& state, std::size_t n) {
  { state.on_allocate(n) } noexcept -> std::same_as<void>;
  { state.on_deallocate(n) } noexcept -> std::same_as<void>;
  { state.on_chunk(n) } noexcept -> std::same_as<void>;
  { state.off_chunk(n) } noexcept -> std::same_as<void>;
} && as_promised<P::traits.counts, requires(const typename P::template state<Traits>& state) {
                               { state.read() } noexcept;
                             }> && as_promised<P::traits.can_try, requires(typename P::template state<Traits>& state) {
                               { state.try_on_allocate() } noexcept -> std::same_as<bool>;
                               { state.try_on_deallocate() } noexcept -> std::same_as<bool>;
                             }> && as_promised<P::traits.hears_release, requires(typename P::template state<Traits>& state) {
                               { state.on_release() } noexcept -> std::same_as<void>;
                             }> && as_promised<P::traits.hears_events, requires(typename P::template state<Traits>& state,
                                                                               const trace_event& event) {
                               { state.on_event(event) } noexcept -> std::same_as<void>;
                             }> && std::constructible_from<typename P::template state<Traits>, const P&>;
}  // namespace detail

/// Everything that the pool uses of a statistics policy besides its traits.
/// The machinery is `state<Traits>`, made from the policy. Its counters are cells of the locking policy, atomic if hooks run
/// outside every lock; those of blocks are Traits::tally.
///   on_allocate(blocks), on_deallocate(blocks)    called under the hit guard; for a sampled block, under the core guard
///   on_chunk(bytes), off_chunk(bytes)             a chunk was added or removed; called under the core guard. If the blocks
///                                                 are an array in the pool, only if the policy counts
/// Optional members:
///   try_on_allocate(), try_on_deallocate()        called instead for one block in a hit, which needs no stack where they call
///                                                 nothing. False: nothing was counted, and the other is called
///   on_release()                                  all blocks are released, including those in use; called under the core
///                                                 guard, before the chunks go
///   on_event(trace_event)                         called besides these, and for refusals; see trace_kind. A block's under the
///                                                 hit guard, before it can be handed out again; a chunk's under the core guard
template <class P>
concept statistics_policy = policy_on<P, axis::statistics> && detail::says<P, statistics_traits> && requires {
  typename detail::template_name<P::template state>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_STATISTICS_H_

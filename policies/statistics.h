// Axis statistics: what is counted.
#ifndef TARN_POLICIES_STATISTICS_H_
#define TARN_POLICIES_STATISTICS_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/stand_in.h"
#include "tarn/policies/statistics/counting_statistics.h"
#include "tarn/policies/statistics/no_statistics.h"

namespace tarn {

/// Everything that the pool uses of a statistics policy. The machinery is `part<Environment>`, made from the policy; its
/// counters are cells of the environment, so that they are atomic where hooks run outside every lock.
///   counts                                 there is something to read: then also read(), which statistics() returns
///   on_allocate(blocks), on_deallocate(blocks)  called with guard()
///   on_chunk(bytes), off_chunk(bytes)      a chunk came or went; called with the core guard
/// It may say more:
///   on_release()                           every block ends, also those in use; called with the core guard, before the chunks go
template <class P>
concept statistics_policy =
    policy_on<P, axis::statistics> && requires {
      { P::template part<detail::stand_in>::counts } -> std::convertible_to<bool>;
    } && requires(typename P::template part<detail::stand_in>& part, std::size_t n) {
      { part.on_allocate(n) } noexcept -> std::same_as<void>;
      { part.on_deallocate(n) } noexcept -> std::same_as<void>;
      { part.on_chunk(n) } noexcept -> std::same_as<void>;
      { part.off_chunk(n) } noexcept -> std::same_as<void>;
    } && (!P::template part<detail::stand_in>::counts || requires(const typename P::template part<detail::stand_in>& part) {
      { part.read() } noexcept;
    }) && std::constructible_from<typename P::template part<detail::stand_in>, const P&>;

}  // namespace tarn

#endif  // TARN_POLICIES_STATISTICS_H_

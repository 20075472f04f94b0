// Axis retention: when a wholly empty chunk goes back to the store.
#ifndef TARN_POLICIES_RETENTION_H_
#define TARN_POLICIES_RETENTION_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/retention/keep_chunks.h"
#include "tarn/policies/retention/return_empty_chunks.h"
#include "tarn/policies/retention/traits.h"

namespace tarn {

/// Everything that the pool uses of a retention policy besides its traits.
/// The machinery is `state`, made from the policy, called with the core guard held.
///   emptied(), reused()  a chunk became wholly free, or is used again; emptied() returns `surplus` when too many are free
///   keep()               how many empty chunks stay when a surplus is given back
///   has_surplus()        optional: whether too many are free now
template <class P>
concept retention_policy = policy_on<P, axis::retention> && requires {
  requires std::same_as<decltype(P::traits), const retention_traits>;
  typename P::state;
} && requires(typename P::state& state) {
  { state.emptied() } noexcept -> std::same_as<detail::status>;
  { state.reused() } noexcept -> std::same_as<void>;
  { state.keep() } noexcept -> std::same_as<std::size_t>;
} && detail::as_promised<P::traits.tells_surplus, requires(const typename P::state& state) {
  { state.has_surplus() } noexcept -> std::same_as<bool>;
}> && std::constructible_from<typename P::state, const P&>;

}  // namespace tarn

#endif  // TARN_POLICIES_RETENTION_H_

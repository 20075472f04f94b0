// Axis growth: how many blocks the next chunk holds. Growth speaks of blocks; bytes appear where the store is asked.
#ifndef TARN_POLICIES_GROWTH_H_
#define TARN_POLICIES_GROWTH_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/growth/fixed_growth.h"
#include "tarn/policies/growth/geometric_growth.h"
#include "tarn/policies/growth/no_growth.h"

namespace tarn {

/// Everything that the pool uses of a growth policy.
///   max_chunks                        chunks that one pool can come to own; unlimited
///   needs_bounded_store               there is no number in it: only a store that has an end can say how many
///   next_chunk(last, total, stride)   called with the pool's core guard held; pure. `last` and `total`: blocks in the
///                                     newest chunk and in all, `stride` in bytes
template <class P>
concept growth_policy = policy_on<P, axis::growth> && std::default_initializable<P> &&
                        requires(const P& growth, std::size_t n) {
                          { P::max_chunks } -> std::convertible_to<std::size_t>;
                          { P::needs_bounded_store } -> std::convertible_to<bool>;
                          { growth.next_chunk(n, n, n) } noexcept -> std::same_as<detail::chunk_request>;
                        };

}  // namespace tarn

#endif  // TARN_POLICIES_GROWTH_H_

// Axis growth: how many blocks the next chunk holds. Growth counts in blocks; stores count in bytes.
#ifndef TARN_POLICIES_GROWTH_H_
#define TARN_POLICIES_GROWTH_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/growth/fixed_growth.h"
#include "tarn/policies/growth/geometric_growth.h"
#include "tarn/policies/growth/no_growth.h"
#include "tarn/policies/growth/traits.h"

namespace tarn {

/// Everything that the pool uses of a growth policy besides its traits.
///   next_chunk(last, total, stride)   called with the pool's core guard held; pure. `last` and `total`: blocks in the newest
///                                     chunk and in all chunks; `stride` in bytes
template <class P>
concept growth_policy = policy_on<P, axis::growth> && std::default_initializable<P> &&
                        requires(const P& growth, std::size_t n) {
                          requires std::same_as<decltype(P::traits), const growth_traits>;
                          { growth.next_chunk(n, n, n) } noexcept -> std::same_as<detail::chunk_request>;
                        };

}  // namespace tarn

#endif  // TARN_POLICIES_GROWTH_H_

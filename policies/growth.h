// Axis growth: how many blocks the next chunk holds. Growth counts in blocks; stores count in bytes.
#ifndef TARN_POLICIES_GROWTH_H_
#define TARN_POLICIES_GROWTH_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/growth/fixed_growth.h"
#include "tarn/policies/growth/geometric_growth.h"
#include "tarn/policies/growth/grow_ahead.h"
#include "tarn/policies/growth/maintained.h"
#include "tarn/policies/growth/no_growth.h"
#include "tarn/policies/growth/traits.h"

namespace tarn {

/// Everything that the pool uses of a growth policy besides its traits.
///   next_chunk(last, total, stride)   called with the pool's core guard held; pure. `last` and `total`: blocks in the newest
///                                     chunk and in all chunks; `stride` in bytes
/// and, if it grows ahead:
///   watermark(total)                  pure: how many blocks that were never handed out maintain() keeps, of so many in all
///   fill(start, bytes)                brings some pages of a chunk into memory without changing them; false: the system
///                                     refused. Called with nothing held, perhaps by several threads, while others may use
///                                     the chunk's blocks. `start`: of a page
template <class P>
concept growth_policy = policy_on<P, axis::growth> && std::default_initializable<P> &&
                        requires(const P& growth, std::size_t n) {
                          requires std::same_as<decltype(P::traits), const growth_traits>;
                          { growth.next_chunk(n, n, n) } noexcept -> std::same_as<detail::chunk_request>;
                        } &&
                        detail::as_promised<P::traits.grows_ahead, requires(const P& growth, std::byte* start, std::size_t n) {
                          { growth.watermark(n) } noexcept -> std::same_as<std::size_t>;
                          { P::fill(start, n) } noexcept -> std::same_as<bool>;
                        }>;

}  // namespace tarn

#endif  // TARN_POLICIES_GROWTH_H_

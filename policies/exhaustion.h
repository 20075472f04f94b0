// Axis exhaustion: what happens when the store gives no further chunk.
#ifndef TARN_POLICIES_EXHAUSTION_H_
#define TARN_POLICIES_EXHAUSTION_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/reclaim_list.h"
#include "tarn/policies/detail/stand_in.h"
#include "tarn/policies/exhaustion/fall_back_to.h"
#include "tarn/policies/exhaustion/reclaim_and_retry.h"
#include "tarn/policies/exhaustion/report_exhaustion.h"
#include "tarn/policies/exhaustion/retry_with.h"
#include "tarn/policies/exhaustion/wait_for_block.h"

namespace tarn {

namespace detail {
template <class Part>
concept retries = requires(Part& part, std::size_t bytes) {
  { part.retry(bytes) } noexcept -> std::same_as<bool>;
} || requires(Part& part, std::size_t bytes, typename Part::attempt& one) {
  { part.retry(bytes, one) } noexcept -> std::same_as<bool>;
};
template <class Policy, class Part>
concept hears = !requires { requires Policy::hears_frees; } || requires(Part& part, std::size_t blocks) {
  { part.freed(blocks) } noexcept -> std::same_as<void>;
};
template <class Policy, class Part>
concept is_asked = !requires { requires Policy::reclaims; } || requires(Part& part) {
  { part.member() } noexcept -> std::same_as<reclaim_member&>;
};
}  // namespace detail

/// Everything that the pool uses of an exhaustion policy. The machinery is `part<Environment>`, made from the policy.
///   extra_chunks                    chunks that come from a second store of its own; 0 without one
///   retry(bytes)                    called with nothing held; true: look again. `bytes`: the size of a block. Or
///                                   retry(bytes, attempt), with what the part's `attempt` keeps for one allocation
///   freed(blocks)                   where the policy's `hears_frees` is true: so many blocks were given back
///   member()                        where the policy's `reclaims` is true: what others ask the pool through. It is retried
///                                   only after the store refused, not growth
///   next_chunk, acquire, release    growth and store of the second kind, under the growth guard like the first
template <class P>
concept exhaustion_policy = policy_on<P, axis::exhaustion> && requires {
  { P::extra_chunks } -> std::convertible_to<std::size_t>;
  typename P::template part<detail::stand_in>;
} && requires(typename P::template part<detail::stand_in>& part, detail::memory region, std::size_t n) {
  requires detail::retries<typename P::template part<detail::stand_in>>;
  requires detail::hears<P, typename P::template part<detail::stand_in>>;
  requires detail::is_asked<P, typename P::template part<detail::stand_in>>;
  { part.next_chunk(n, n, n) } noexcept -> std::same_as<detail::chunk_request>;
  { part.acquire(n, n) } noexcept -> std::same_as<detail::memory>;
  { part.release(region, n) } noexcept -> std::same_as<void>;
} && std::constructible_from<typename P::template part<detail::stand_in>, const P&>;

}  // namespace tarn

#endif  // TARN_POLICIES_EXHAUSTION_H_

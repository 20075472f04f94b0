// Axis exhaustion: what happens when the pool gets no further chunk.
#ifndef TARN_POLICIES_EXHAUSTION_H_
#define TARN_POLICIES_EXHAUSTION_H_

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/reclaim_list.h"
#include "tarn/policies/detail/waiting_line.h"
#include "tarn/policies/exhaustion/fall_back_to.h"
#include "tarn/policies/exhaustion/reclaim_and_retry.h"
#include "tarn/policies/exhaustion/report_exhaustion.h"
#include "tarn/policies/exhaustion/retry_with.h"
#include "tarn/policies/exhaustion/traits.h"
#include "tarn/policies/exhaustion/wait_for_block.h"
#include "tarn/policies/store.h"

namespace tarn {

namespace detail {
template <class State>
concept retries_with_attempt = requires(State& state, std::size_t bytes, typename State::attempt& one) {
  { state.retry(bytes, one) } noexcept -> std::same_as<bool>;
};

template <class P, class Traits>
concept exhaustion_members =
    requires(typename P::template state<Traits>& state, memory region, std::size_t n) {
      { state.next_chunk(n, n, n) } noexcept -> std::same_as<chunk_request>;
      { state.acquire(n, n) } noexcept -> std::same_as<memory>;
      { state.release(region, n) } noexcept -> std::same_as<void>;
    } &&
    as_promised<!P::traits.keeps_attempt,
                requires(typename P::template state<Traits>& state, std::size_t bytes) {
                  { state.retry(bytes) } noexcept -> std::same_as<bool>;
                }> &&
    as_promised<P::traits.keeps_attempt, retries_with_attempt<typename P::template state<Traits>>> &&
    as_promised<P::traits.hears_frees, requires(typename P::template state<Traits>& state, std::size_t blocks) {
      { state.freed(blocks) } noexcept -> std::same_as<void>;
    }> && as_promised<P::traits.waits, requires(typename P::template state<Traits>& state) {
      { state.line() } noexcept -> std::same_as<waiting_line&>;
      { state.nanoseconds() } noexcept -> std::same_as<std::uint64_t>;
    }> && as_promised<P::traits.reclaims, requires(typename P::template state<Traits>& state) {
      { state.member() } noexcept -> std::same_as<reclaim_member&>;
    }> && as_promised<P::traits.hears_asks, requires(typename P::template state<Traits>& state) {
      { state.asked() } noexcept -> std::same_as<void>;
    }> && as_promised<P::traits.has_end, requires(typename P::template state<Traits>& state) {
      { state.end() } noexcept -> std::same_as<void>;
    }> && as_promised<P::traits.tells_later, requires(typename P::template state<Traits>& state) {
      { state.tell() } noexcept -> std::same_as<void>;
    }> && std::constructible_from<typename P::template state<Traits>, const P&>;

/// Whether the second store of an exhaustion policy that has one, `second_store`, has what a store needs.
template <class P, class Traits>
inline constexpr bool second_store_holds = true;
template <class P, class Traits>
  requires requires { typename P::second_store; }
inline constexpr bool second_store_holds<P, Traits> = serving_store<typename P::second_store, Traits>;
}  // namespace detail

/// Everything that the pool uses of an exhaustion policy besides its traits.
/// The machinery is `state<Traits>`, made from the policy.
///   retry(bytes)                    called with nothing held. True: try again; false: give up. `bytes`: the size of a block.
///                                   Functions named try_… call it as well, so it must not wait for another thread.
///                                   Alternatively retry(bytes, attempt), where the type `attempt` keeps state for one
///                                   allocation
///   freed(blocks)                   if `hears_frees` is true: that many blocks were freed, and can be had
///   line(), nanoseconds()           if `waits` is true: the threads that wait for a block, and how long a call without a
///                                   time waits
///   member()                        if `reclaims` is true: through which other pools ask this one. retry() is then called only
///                                   after the store refused, not growth
///   asked()                         if `hears_asks` is true: another pool asked this one to trim, which it does next
///   tell()                          if `tells_later` is true: called after that store was asked, with nothing held
///   next_chunk, acquire, release    the second growth and store, called under the growth guard like the first
///   second_store                    optional: the store policy behind these, whose members are then asked for, too
template <class P>
concept exhaustion_policy = policy_on<P, axis::exhaustion> && detail::says<P, exhaustion_traits> && requires {
  typename detail::template_name<P::template state>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_EXHAUSTION_H_

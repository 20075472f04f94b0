// A pool's guards, for code that may call a store or a checking policy. If a policy asks for that, they also record that this
// thread is in a call of the pool, or at its store.
//
// Order: growth guard, then core guard. A store is called under the growth guard only.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_GUARDS_H_
#define TARN_ALLOCATOR_DETAIL_POOL_GUARDS_H_

#include "tarn/policies/detail/call_frame.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/reclaim_list.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

template <class State, class Make>
TARN_STEP auto in_call(const State& s, Make make) {
  if constexpr (State::traits::tells_reentry) return framed<decltype(make())>(detail::pointer_to(s), make);
  else return make();
}
/// If the store asks for memory meanwhile, it must not come back to this pool.
template <class State, class Make>
TARN_STEP auto at_store(State& s, Make make) {
  if constexpr (State::traits::reclaims)
    return detail::in_call(
        s, [&s, make] { return reclaim_member::at_store<decltype(make())>(s.supply.asked_through(), make); });
  else return detail::in_call(s, make);
}

template <class State>
TARN_STEP auto call_guard(const State& s) noexcept {
  return detail::in_call(s, [] { return no_guard(); });
}
/// Held around a hit.
template <class State>
TARN_STEP auto hit_guard(const State& s) noexcept {
  if constexpr (!State::traits::tells_reentry) return s.locking.hit_guard();  // at -O0 the lambda is a call
  else return detail::in_call(s, [&s] { return s.locking.hit_guard(); });
}
/// Held around the list and the chunks.
template <class State>
TARN_STEP auto core_guard(const State& s) noexcept {
  return detail::in_call(s, [&s] { return s.locking.core_guard(); });
}
/// Held around the store.
template <class State>
TARN_STEP auto growth_guard(State& s) {
  return detail::at_store(s, [&s] { return s.locking.growth_guard(); });
}
/// For code that must not wait for another thread at the store.
template <class State>
auto try_growth_guard(State& s)
  requires(State::traits::locking::traits.can_try)
{
  return detail::at_store(s, [&s] { return s.locking.try_growth_guard(); });
}

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_GUARDS_H_

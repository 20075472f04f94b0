// A pool's guards, for code that may call a store or a checking policy. If a policy asks for that, they also record that this
// thread is in a call of the pool, or at its store.
//
// Order: growth guard, then core guard. A store is called under the growth guard only.
//
// A store may run code of the program that comes back to the pool: a new-handler, a memory resource, a hook. It finds the pool
// as any other thread would, but that it can't wait for the growth guard, which it holds. So it isn't given that.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_GUARDS_H_
#define TARN_ALLOCATOR_DETAIL_POOL_GUARDS_H_

#include <new>

#include "tarn/policies/detail/call_frame.h"
#include "tarn/policies/detail/process_list.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn::detail {

/// Whether this thread is at the pool's store, which came back to the pool.
template <class State>
bool grows_here([[maybe_unused]] const State& s) noexcept {
  constexpr growth_again again = again_of<typename State::locking_state>;
  if constexpr (!State::traits::store_comes_back) return false;
  else if (s.supply.owner_is_at_store()) return true;
  else if constexpr (again == growth_again::nests) return s.chunks.is_growing();
  else if constexpr (again == growth_again::told) return s.locking.grows_here();
  else return s.supply.grower() == this_thread_number();
}

/// The growth guard, with a mark that this thread is at the store; not held if it is already.
template <class State, class Guard>
class growing_once {
  static constexpr growth_again again = again_of<typename State::locking_state>;

 public:
  template <class Make>
  growing_once(State& of, Make make) : s_(of), is_nested_(detail::grows_here(of)) {
    if (is_nested_) return;
    ::new (static_cast<void*>(detail::pointer_to(guard_))) Guard(make());
    if (detail::is_held(guard_)) mark(true);
  }
  ~growing_once() {
    if (is_nested_) return;
    if (detail::is_held(guard_)) mark(false);
    guard_.~Guard();
  }
  growing_once(const growing_once&) = delete;
  growing_once& operator=(const growing_once&) = delete;

  explicit operator bool() const noexcept { return !is_nested_ && detail::is_held(guard_); }

 private:
  void mark([[maybe_unused]] bool now) noexcept {
    if constexpr (again == growth_again::nests) s_.chunks.set_growing(now);
    if constexpr (again == growth_again::waits) s_.supply.set_grower(now ? this_thread_number() : 0);
  }

  State& s_;
  const bool is_nested_;
  union {
    Guard guard_;
  };
};

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
/// If the store comes back to the pool, the guard isn't held.
template <class State, class Make>
TARN_STEP auto once(State& s, Make make) {
  if constexpr (State::traits::store_comes_back) return growing_once<State, decltype(make())>(s, make);
  else return make();
}
/// Held around the store, if is_held() says so.
template <class State>
TARN_STEP auto growth_guard(State& s) {
  return detail::once(s, [&s] { return detail::at_store(s, [&s] { return s.locking.growth_guard(); }); });
}
/// For code that must not wait for another thread at the store.
template <class State>
auto try_growth_guard(State& s)
  requires(State::traits::locking::traits.can_try)
{
  return detail::once(s, [&s] { return detail::at_store(s, [&s] { return s.locking.try_growth_guard(); }); });
}
/// For questions about the store: it may be answered in the middle of its own call.
template <class State>
class look_at_store {
  using guard = decltype(static_cast<const State*>(nullptr)->locking.growth_guard());

 public:
  explicit look_at_store(const State& s) : is_nested_(detail::grows_here(s)) {
    if (!is_nested_) ::new (static_cast<void*>(detail::pointer_to(guard_))) guard(s.locking.growth_guard());
  }
  ~look_at_store() {
    if (!is_nested_) guard_.~guard();
  }
  look_at_store(const look_at_store&) = delete;
  look_at_store& operator=(const look_at_store&) = delete;
  explicit operator bool() const noexcept { return is_nested_ || detail::is_held(guard_); }

 private:
  const bool is_nested_;
  union {
    guard guard_;
  };
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_GUARDS_H_

// How a pool is listed in the process: in the registry, if it has a name, and among the pools that others may ask to trim.
//
//   be_registered  enters the registry: called by the constructor; for constants and the pools of size classes, by enlist
//   enlist         called before the pool's store is, with nothing held: enters the registry and the list of those to ask
//   undisturbed    while this exists, no thread asks the pool
//   be_left_alone  leaves both; called before the pool is destroyed
//   describe       what is counted only for a snapshot of the pool; what it notes beforehand: events.h
#ifndef TARN_ALLOCATOR_DETAIL_POOL_REGISTRATION_H_
#define TARN_ALLOCATOR_DETAIL_POOL_REGISTRATION_H_

#include <cstddef>

#include "tarn/allocator/detail/pool/events.h"
#include "tarn/allocator/detail/pool/growth.h"
#include "tarn/allocator/detail/pool/locks.h"
#include "tarn/policies/detail/fork.h"
#include "tarn/policies/detail/process_list.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/name.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

// ---- what the registry asks ------------------------------------------------------------------------------------------------

/// Free blocks that aren't behind the front of the list. Called under the core lock.
template <class State>
std::size_t free_outside(const State& s) noexcept {
  std::size_t n = s.list.in_front(s.chunks);
  if constexpr (State::traits::locking::traits.keeps_blocks || State::traits::locking::traits.own_free_list)
    n += s.locking.waiting(s);
  return n;
}

/// Writes what can be seen of a pool only under its core lock, and what never changes.
template <class State>
void describe(const State& s, pool_record& out) noexcept {
  using traits = typename State::traits;
  const auto& g = s.chunks.geometry();
  out.block_size = g.block_size();
  out.stride = g.stride();
  constexpr std::size_t end = sizeof out.policies - 1;
  std::size_t at = detail::add_short_name<typename traits::locking>(out.policies, 0, end);
  at = detail::add_short_name<typename traits::reuse>(out.policies, at, end);
  out.policies[detail::add_short_name<typename traits::store>(out.policies, at, end)] = 0;
  if (!out.is_exact) return;
  const ask_lock guard(s);
  const std::size_t outside = s.list.outside(s.chunks);
  const std::size_t at_rest = smaller(detail::free_outside(s), outside);
  out.in_use = outside - at_rest + detail::apart(s);
  if constexpr (traits::locking::traits.keeps_blocks || traits::locking::traits.own_free_list)
    out.waiting = smaller(s.locking.waiting(s), at_rest);
  out.capacity = s.chunks.capacity();
  if constexpr (traits::counts) {
    const auto counts = s.statistics.read();
    out.in_use = counts.in_use;
    if constexpr (!traits::locking::traits.has_tally) out.peak = counts.peak;  // otherwise the most that was seen
  }
  out.peak = larger(out.peak, out.in_use);
}

/// What the registry calls, for pools of all types alike. Functions, because g++ warns if a lambda's parameter has the name of
/// a user's variable.
template <class State>
struct calls_of_registry {
  static void tell(const void* its, pool_record& out) noexcept {
    const State& looked_at = *static_cast<const State*>(its);  // debuggers find the pool's type by this name
    detail::describe(looked_at, out);
  }
  static bool switch_checks(void* its, bool now, bool is_owner) noexcept {
    return switched<State>::switch_to(*static_cast<State*>(its), now, is_owner);
  }
  static void entered(void* its) noexcept {
    State& s = *static_cast<State*>(its);
    const auto& g = s.chunks.geometry();
    const listed_shape shape{g.block_size(), g.stride(), g.offset(), g.words(),
                             g.coloured() ? std::size_t{1} << g.run_shift() : 0};
    if constexpr (requires { State::traits::name::listing(); }) s.name.describe(shape, State::traits::name::listing());
    else s.name.describe(shape);
  }
  static constexpr process_calls make() noexcept {
    process_calls its{.entered = entered, .tell = tell};
    if constexpr (switched<State>::can_be_on) its.switch_checks = switch_checks;
    return its;
  }
  static constexpr process_calls all = make();
};

// ---- knowing the pool ------------------------------------------------------------------------------------------------------

/// Called with nothing held when the pool is created, and before its store is called. From now on it is in the registry.
template <class State>
TARN_STEP void be_registered([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::is_listed) {
    static_cast<void>(&fork_handlers<State>), static_cast<void>(&process_list_at_load<State>);  // instantiates them
    s.name.enter(detail::pointer_to(s), calls_of_registry<State>::all, State::is_confined);
    if constexpr (State::traits::checking::traits.switches) s.checking.choose(s.name.name());
  }
}
/// Whether other pools may ask this one: it can be trimmed without waiting.
template <class State>
inline constexpr bool can_be_asked =
    State::traits::reclaims && State::traits::may_return_chunks && need_not_wait<State>;

/// Called before the pool's store is, with nothing held. From now on the registry and report_in_use() list it, and other pools
/// may ask it, if the exhaustion policy allows it.
template <class State>
TARN_STEP void enlist(State& s) noexcept {
  if (detail::grows_here(s)) return;  // the store called the pool: it is in the lists, or has left them to be destroyed
  detail::be_registered(s);
  if constexpr (State::traits::checking::traits.refuses) admission<State>::be_listed(s);
  if constexpr (can_be_asked<State>) {
    static_cast<void>(&fork_handlers<State>), static_cast<void>(&process_list_at_load<State>);  // instantiates them
    static constexpr process_calls calls{
        .trim = [](void* its) noexcept { return detail::trim_if_idle(*static_cast<State*>(its)); }};
    s.upstream.asked_through().enter(detail::pointer_to(s), calls, State::is_confined);
  }
}
/// Called before the pool is destroyed.
template <class State>
TARN_STEP void be_left_alone(State& s) noexcept {
  if constexpr (State::traits::is_listed) s.name.leave();
  if constexpr (State::traits::reclaims) s.upstream.asked_through().leave();
}

/// While this exists, no thread asks the pool, not even the one that walks its blocks, and no call waits for a block, because
/// there is no other thread. Within another one, or in the pool's destructor, this stays so afterwards.
template <class State>
class undisturbed {
 public:
  explicit undisturbed(State& its) noexcept : s_(its) {
    if constexpr (State::traits::is_listed) s_.name.pause();
    if constexpr (can_be_asked<State>) s_.upstream.asked_through().pause();
    if constexpr (State::traits::waits) {
      was_closed_ = s_.upstream.line().is_closed();
      s_.upstream.line().close();
    }
  }
  ~undisturbed() {
    if constexpr (State::traits::waits)
      if (!was_closed_) s_.upstream.line().open();
    if constexpr (can_be_asked<State>) s_.upstream.asked_through().resume();
    if constexpr (State::traits::is_listed) s_.name.resume();
  }
  undisturbed(const undisturbed&) = delete;
  undisturbed& operator=(const undisturbed&) = delete;

 private:
  State& s_;
  bool was_closed_ = false;
};

/// The same for a walk through the blocks in use: no chunk is returned either. The surplus is returned after the last walk.
template <class State>
class walked_alone {
 public:
  explicit walked_alone(State& its) noexcept : s_(its), alone_(its) { s_.chunks.keep_all(); }
  ~walked_alone() {
    s_.chunks.keep_no_longer();
    detail::give_surplus_back(s_);
  }
  walked_alone(const walked_alone&) = delete;
  walked_alone& operator=(const walked_alone&) = delete;

 private:
  State& s_;
  undisturbed<State> alone_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_REGISTRATION_H_

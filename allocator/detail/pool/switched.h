// Checks that can be switched on while the program runs: what a hit does where they are on. Off, it is one branch.
//
//   take   [hit: pop · on: looked up, and its record]     wrong: null, so that the slow half goes on
//   put    [hit: on: looked up, and its record · push]    wrong: refused
//
// What is wrong is noted under the guard, and reported by the slow half once nothing is held: tell_of_noted().
#ifndef TARN_ALLOCATOR_DETAIL_POOL_SWITCHED_H_
#define TARN_ALLOCATOR_DETAIL_POOL_SWITCHED_H_

#include "tarn/allocator/detail/pool/block_steps.h"
#include "tarn/allocator/detail/pool/guards.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// Of pools whose checks are never on.
template <class State>
struct switched {
  static constexpr bool can_be_on = false;

  TARN_STEP static constexpr bool is_on(const State&) noexcept { return false; }
  static constexpr bool comes_out(State&, void*) noexcept { return true; }
  static constexpr bool comes_in(State&, void*) noexcept { return true; }
};
template <class State>
  requires(State::traits::checking::traits.switches)
struct switched<State> {
  static constexpr bool can_be_on = true;

  TARN_STEP static bool is_on(const State& s) noexcept { return s.checking.is_on(); }
  /// Whether a block that came from the list may be handed out; null: yes. Called under the hit guard.
  TARN_NOINLINE static bool comes_out(State& s, void* block) noexcept {
    if (block == nullptr) return true;
    [[maybe_unused]] const auto looking = look_guard(s);
    return s.checking.comes_out(s.chunks, block);
  }
  /// Whether a block may be given back; null: yes. Called under the hit guard.
  TARN_NOINLINE static bool comes_in(State& s, void* block) noexcept {
    if (block == nullptr) return true;
    [[maybe_unused]] const auto looking = look_guard(s);
    return s.checking.comes_in(s.chunks, block);
  }
  /// Whether a block could be given back, as things stand. If not, that was reported.
  static bool admits(State& s, void* block) noexcept {
    if (!is_on(s)) return true;
    pending_report one;
    {
      [[maybe_unused]] const auto guard = detail::core_guard(s);
      s.checking.describe_deallocate(s.chunks, block, one);
    }
    if (one.seen()) detail::report(s, one);
    return !one.seen();
  }

  /// Switches the checks of a pool. Returns whether it could. They can't be switched on where a hit holds nothing that keeps it
  /// from running meanwhile: it would have decided already that nothing is looked at.
  /// \param is_owner  the pool has no lock, and belongs to this thread
  static bool switch_to(State& s, bool now, bool is_owner) noexcept {
    if (!now) return s.checking.switch_off(), true;
    if (State::is_confined ? !is_owner : State::hits_unguarded) return s.checking.is_on();
    [[maybe_unused]] const auto guard = detail::core_guard(s);
    if (!s.checking.is_on()) s.checking.switch_on(s.chunks);
    return true;
  }

 private:
  static auto look_guard(const State& s) noexcept {
    if constexpr (State::hits_unguarded) return s.locking.core_guard();
    else return no_guard{};
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_SWITCHED_H_

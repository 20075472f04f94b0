// How long a call waits for a block, and how blocks reach the threads that wait. Their line, waiting_line, and what wakes them,
// served_threads, belong to the exhaustion policy (exhaustion.h). Used only if that `waits`:
//
//   push     [hit: a thread waits] → push_slow: [hit: give the block to the first in the line; none left: push] · wake it
//   serve    called where else blocks come, as in adopt and trim: [core: give the list's blocks to the line] · wake them
//   wait     [hit: join, serve] · [growth: grow] · sleep · [hit: leave]
//
// So the list is empty while a thread waits, and a hit can't overtake, because it finds no block. The thread that frees a block
// wakes the one that gets it, after the hit or core lock is released.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_WAITING_H_
#define TARN_ALLOCATOR_DETAIL_POOL_WAITING_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/allocator/detail/pool/events.h"
#include "tarn/allocator/detail/pool/locks.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/exhaustion.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn::detail {

// ---- how long --------------------------------------------------------------------------------------------------------------

struct never_waits {};
/// The same, but a call that finds nothing isn't reported as refused, because its caller continues.
struct only_looks {};
/// As the exhaustion policy decides.
struct waits_as_usual {};
struct waits_within {
  std::uint64_t nanoseconds;
};
/// For calls named try_….
using limit_of_try = never_waits;
/// By steady_nanoseconds().
struct waits_until {
  std::uint64_t time;
};

template <class State, class Limit>
inline constexpr bool waits_under =
    State::traits::waits && !std::is_same_v<Limit, never_waits> && !std::is_same_v<Limit, only_looks>;

inline std::uint64_t time_after(std::uint64_t nanoseconds) noexcept {
  const std::uint64_t now = steady_nanoseconds();
  return now > UINT64_MAX - nanoseconds ? UINT64_MAX : now + nanoseconds;
}
/// When a call that found nothing gives up.
std::uint64_t end_of(auto& s, waits_as_usual) noexcept { return time_after(s.upstream.nanoseconds_to_wait()); }
std::uint64_t end_of(auto&, waits_within limit) noexcept { return time_after(limit.nanoseconds); }
std::uint64_t end_of(auto&, waits_until limit) noexcept { return limit.time; }

/// A std::chrono::duration, or a similar type.
template <class D>
concept time_span = requires(const D& span) {
  span.count();
  D::period::num;
  D::period::den;
};
constexpr std::uint64_t common_divisor(std::uint64_t a, std::uint64_t b) noexcept {
  while (b != 0) {
    const std::uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
/// Rounded up; 0 if negative or not a number.
template <time_span D>
constexpr std::uint64_t nanoseconds_of(const D& span) noexcept {
  constexpr std::uint64_t in_second = 1'000'000'000;
  constexpr auto den = static_cast<std::uint64_t>(D::period::den);
  constexpr std::uint64_t common = common_divisor(in_second, den);
  constexpr std::uint64_t times = static_cast<std::uint64_t>(D::period::num) * (in_second / common);
  constexpr std::uint64_t parts = den / common;
  const auto count = span.count();
  if (!(count > 0)) return 0;
  if constexpr (requires { count % 2; }) {
    if (static_cast<std::uint64_t>(count) > UINT64_MAX / times) return UINT64_MAX;
    const std::uint64_t whole = static_cast<std::uint64_t>(count) * times;
    return whole / parts + (whole % parts != 0 ? 1 : 0);
  } else {
    const auto all = static_cast<double>(count) * (static_cast<double>(times) / static_cast<double>(parts));
    return all < 1.8e19 ? static_cast<std::uint64_t>(all) + 1 : UINT64_MAX;
  }
}

// ---- those who wait --------------------------------------------------------------------------------------------------------

/// Constructed before the guard, so that the served threads are woken after it is released.
template <class State>
using served_of = std::conditional_t<State::traits::waits, served_threads, no_guard>;

/// Whether a freed block must go to a waiting thread, and not into the list. Called under the hit lock.
template <class State>
TARN_STEP bool is_awaited([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::waits) return s.upstream.line().is_awaited();
  else return false;
}
/// Gives the blocks of the list to the waiting threads. Called under the core lock, after blocks were added other than by a
/// free.
template <class State>
void serve([[maybe_unused]] State& s, [[maybe_unused]] served_of<State>& served) noexcept {
  if constexpr (State::traits::waits) {
    while (detail::is_awaited(s) && s.upstream.line().has_first()) {
      void* const block = s.locking.pop_slow(s);
      detail::on_outside(s);
      if (block == nullptr) return;
      s.upstream.line().give(block, served);
    }
  }
}
/// The same, called with nothing held.
template <class State>
TARN_STEP void serve([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::waits) {
    served_of<State> served;
    const hit_lock guard(s);
    detail::serve(s, served);
  }
}
/// Gives a freed block to the first waiting thread. Returns whether there is one. Called under the hit lock.
template <class State>
bool give_to_first([[maybe_unused]] State& s, [[maybe_unused]] void* block,
                   [[maybe_unused]] served_of<State>& served) noexcept {
  if constexpr (State::traits::waits) {
    if (!detail::is_awaited(s) || !s.upstream.line().has_first()) return false;
    s.upstream.line().give(block, served);
    detail::serve(s, served);  // a rebuilt list may have some
    return true;
  } else {
    return false;
  }
}
/// Called after a push, still under its lock.
TARN_STEP status make_room_if(auto& s, status answer) noexcept {
  if (answer != status::crowded) [[likely]] return answer;
  return s.locking.make_room(s);
}
/// The end of a free, under the hit lock. `full`: push_slow() must come.
template <class State>
TARN_STEP status push(State& s, void* block) noexcept {
  if (detail::is_awaited(s)) [[unlikely]] return status::full;
  const status answer = s.locking.push(s, block);
  return State::hits_unguarded ? answer : detail::make_room_if(s, answer);
}
/// The same with nothing held: to the first waiting thread, if there is one.
template <class State>
status push_slow(State& s, void* block) noexcept {
  [[maybe_unused]] served_of<State> served;
  const hit_lock guard(s);
  if (detail::give_to_first(s, block, served)) return status::done;
  return detail::make_room_if(s, s.locking.push_slow(s, block));
}
/// Gives freed blocks, from the first on, to the waiting threads. Called under the hit lock. Returns how many.
template <class State>
TARN_COLD std::size_t give_to_line(State& s, span<void* const> blocks, served_of<State>& served) noexcept {
  std::size_t n = 0;
  while (n != blocks.size() && detail::give_to_first(s, blocks[n], served)) ++n;
  return n;
}

/// Waits for blocks, as many as `out` has room for, until a time. Called with nothing held. Returns how many came; the pool
/// doesn't count them as allocated yet. Blocks that came between the caller's last attempt and its place in the line are found
/// here. During this, grow_until(is_served) gets chunks, if they have become available.
template <class State, class Grow>
std::size_t wait_for(State& s, span<void*> out, std::uint64_t deadline, Grow grow_until) noexcept {
  static_assert(!State::hits_unguarded && std::is_same_v<decltype(s.locking.hit_guard()), decltype(s.locking.core_guard())>,
                "a locking policy that says can_wait has one lock: its hit_guard() is its core_guard()");
  auto& line = s.upstream.line();
  waiting_thread me(out);
  {
    served_of<State> served;
    const hit_lock guard(s);
    if (line.is_closed()) return 0;
    line.join(me);
    detail::serve(s, served);
  }
  if (!me.is_served()) grow_until([&me] { return me.is_served(); });
  if (me.wait_until(deadline)) return me.got();
  {
    const hit_lock guard(s);
    if (line.leave(me)) return me.got();
  }
  me.wait_until(UINT64_MAX);  // the thread that served it is about to notify it
  return me.got();
}

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_WAITING_H_

// Tells the statistics policy of events, if it hears them (trace_event.h). Else all of it is nothing.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_EVENTS_H_
#define TARN_ALLOCATOR_DETAIL_POOL_EVENTS_H_

#include <cstddef>

#include "tarn/allocator/detail/pool/guards.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/statistics.h"

namespace tarn::detail {

template <class Traits>
inline constexpr bool hears_events = Traits::statistics::traits.hears_events;

template <class State>
TARN_STEP void tell_of_chunk([[maybe_unused]] State& s, [[maybe_unused]] trace_kind kind,
                             [[maybe_unused]] memory region) noexcept {
  if constexpr (hears_events<typename State::traits>)
    s.statistics.on_event({kind, detail::pointer_to(s), region.start, region.bytes});
}

template <class State>
TARN_STEP void tell_of_allocation([[maybe_unused]] State& s, [[maybe_unused]] void* block) noexcept {
  if constexpr (hears_events<typename State::traits>)
    s.statistics.on_event({trace_kind::allocate, detail::pointer_to(s), block, s.chunks.geometry().block_size()});
}
/// Before the block can be handed out again.
template <class State>
TARN_STEP void tell_of_free([[maybe_unused]] State& s, [[maybe_unused]] void* block) noexcept {
  if constexpr (hears_events<typename State::traits>)
    s.statistics.on_event({trace_kind::free, detail::pointer_to(s), block, s.chunks.geometry().block_size()});
}
template <class State>
TARN_STEP void tell_of_blocks([[maybe_unused]] State& s, [[maybe_unused]] trace_kind kind,
                              [[maybe_unused]] span<void* const> blocks) noexcept {
  if constexpr (hears_events<typename State::traits>)
    for (void* const block : blocks)
      s.statistics.on_event({kind, detail::pointer_to(s), block, s.chunks.geometry().block_size()});
}

template <class State>
TARN_STEP void tell_of_refusal([[maybe_unused]] State& s) noexcept {
  if constexpr (hears_events<typename State::traits>)
    s.statistics.on_event({trace_kind::refuse, detail::pointer_to(s), nullptr, s.chunks.geometry().block_size()});
}

/// All blocks are free, also those in use. Under the core guard, before the chunks go.
template <class State>
TARN_STEP void tell_of_release([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::statistics::traits.hears_release) s.statistics.on_release();
  if constexpr (hears_events<typename State::traits>)
    s.statistics.on_event({trace_kind::release, detail::pointer_to(s), nullptr, 0});
}

// What every path does with a block.

/// Informs tools that know which memory may be used.
template <class State>
TARN_STEP void open_block(State& s, void* block) noexcept {
  memory_tools::hand_out(block, s.chunks.geometry().block_size());
}
template <class State>
TARN_STEP void poison_block(State& s, void* block) noexcept {
  memory_tools::poison(block, s.chunks.geometry().block_size());
}

/// Called after a push, still under its guard.
template <class State>
TARN_STEP status make_room_if(State& s, status answer) noexcept {
  if (answer != status::crowded) [[likely]] return answer;
  return s.locking.make_room(s);
}

/// Reports what was noted, with nothing held. The address of its state identifies the pool.
template <class State>
TARN_COLD void report(State& s, pending_report& one) noexcept {
  misuse& what = one.what();
  what.pool = detail::pointer_to(s);
  what.block_size = s.chunks.geometry().block_size();
  s.checking.report(what);
}

template <class State>
void report_left_wrong(State& s) noexcept {
  pending_report one;
  {
    [[maybe_unused]] const auto guard = detail::core_guard(s);  // a signal handler that frees here is refused
    if (!s.chunks.take_left_wrong(one)) return;
  }
  detail::report(s, one);
}
/// Whether the record of a chunk was found to be overwritten. Called under the core guard.
template <class State>
bool note_overrun(State& s, pending_report& one) noexcept {
  const auto* const chunk = s.chunks.take_overrun();
  if (chunk != nullptr) one.note(misuse_kind::corrupt_chunk, chunk);
  return chunk != nullptr;
}
template <class State>
void report_overrun(State& s) noexcept {
  pending_report one;
  {
    [[maybe_unused]] const auto guard = detail::core_guard(s);
    if (!detail::note_overrun(s, one)) return;
  }
  detail::report(s, one);
}
template <class State>
TARN_STEP void tell_of_overrun([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::guards_records) detail::report_overrun(s);
}

template <class State>
TARN_COLD void report_noted(State& s) noexcept {
  pending_report one;
  {
    [[maybe_unused]] const auto guard = detail::core_guard(s);
    if (!s.checking.take_noted(s.chunks, one)) return;
  }
  detail::report(s, one);
}
/// Called by the slow half, with nothing held.
template <class State>
TARN_STEP void tell_of_noted([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::checking::traits.switches)
    if (s.checking.is_on()) [[unlikely]] detail::report_noted(s);
}

/// Called by the slow half after blocks may have left a front, with nothing held.
template <class State>
TARN_STEP void tell_of_leaving([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::checks_leaving) detail::report_left_wrong(s);
  detail::tell_of_noted(s);
  detail::tell_of_overrun(s);
}

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_EVENTS_H_

// Tells the statistics policy of events, if it hears them (trace_event.h). Else all of it is nothing.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_TELLING_H_
#define TARN_ALLOCATOR_DETAIL_POOL_TELLING_H_

#include <cstddef>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/span.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/statistics/trace_event.h"

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

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_TELLING_H_

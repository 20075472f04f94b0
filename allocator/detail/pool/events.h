// The events of a pool. Each is reported here to all observers: the statistics policy, its trace, the registry, and tools that
// know which memory may be used. An observer that isn't there costs nothing.
// Detected misuse isn't an event: see checks.h.
//
//   a block       on_allocate, on_deallocate; for tools: open_block, poison_block
//   no block      on_refusal
//   a chunk       on_chunk, off_chunk
//   all blocks    on_release
//   the front     on_outside
//
// For the registry, no hit counts anything:
//
//   blocks ever handed out = in use + at the front of the list + waiting in front of the list + behind the list's front
//                            '----------------------- outside -----------------------------'
//
// `outside` changes only when the front is refilled or emptied, so its maximum is never less than the peak.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_EVENTS_H_
#define TARN_ALLOCATOR_DETAIL_POOL_EVENTS_H_

#include <cstddef>

#include "tarn/allocator/detail/pool/locks.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/statistics.h"

namespace tarn::detail {

template <class State>
inline constexpr bool hears_events = State::traits::statistics::traits.hears_events;

template <class State>
TARN_STEP void trace([[maybe_unused]] State& s, [[maybe_unused]] trace_kind kind, [[maybe_unused]] memory region) noexcept {
  if constexpr (hears_events<State>) s.statistics.on_event({kind, detail::pointer_to(s), region.start, region.bytes});
}
template <class State>
TARN_STEP void trace_block([[maybe_unused]] State& s, [[maybe_unused]] trace_kind kind, [[maybe_unused]] void* block) noexcept {
  if constexpr (hears_events<State>) detail::trace(s, kind, {block, s.chunks.geometry().block_size()});
}

// ---- blocks ----------------------------------------------------------------------------------------------------------------

TARN_STEP void open_block(auto& s, void* block) noexcept { memory_tools::hand_out(block, s.chunks.geometry().block_size()); }
TARN_STEP void poison_block(auto& s, void* block) noexcept { memory_tools::poison(block, s.chunks.geometry().block_size()); }

/// \param counts  false: the statistics policy has counted it
TARN_STEP void on_allocate(auto& s, void* block, bool counts = true) noexcept {
  if (counts) s.statistics.on_allocate(1);
  detail::trace_block(s, trace_kind::allocate, block);
}
/// Before the block can be allocated again.
TARN_STEP void on_deallocate(auto& s, void* block, bool counts = true) noexcept {
  if (counts) s.statistics.on_deallocate(1);
  detail::trace_block(s, trace_kind::free, block);
}
template <class State>
TARN_STEP void on_allocate(State& s, span<void* const> blocks) noexcept {
  s.statistics.on_allocate(blocks.size());
  if constexpr (hears_events<State>)
    for (void* const block : blocks) detail::trace_block(s, trace_kind::allocate, block);
}
template <class State>
TARN_STEP void on_deallocate(State& s, span<void* const> blocks) noexcept {
  s.statistics.on_deallocate(blocks.size());
  if constexpr (hears_events<State>)
    for (void* const block : blocks) detail::trace_block(s, trace_kind::free, block);
}
/// A request found no block.
template <class State>
TARN_STEP void on_refusal([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::is_listed) s.name.on_refusal();
  detail::trace_block(s, trace_kind::refuse, nullptr);
}

// ---- chunks, and the front of the list: under the core lock ----------------------------------------------------------------

template <class State>
TARN_STEP void on_chunk(State& s, memory region) noexcept {
  s.statistics.on_chunk(region.bytes);
  if constexpr (State::traits::is_listed) s.name.on_chunk(region.bytes, s.chunks.capacity());
  detail::trace(s, trace_kind::grow, region);
}
template <class State>
TARN_STEP void off_chunk(State& s, memory region) noexcept {
  s.statistics.off_chunk(region.bytes);
  if constexpr (State::traits::is_listed) s.name.off_chunk(region.bytes, s.chunks.capacity());
  detail::trace(s, trace_kind::give_back, region);
}
/// All blocks are freed, including those in use. Before the chunks are returned.
template <class State>
TARN_STEP void on_release([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::statistics::traits.hears_release) s.statistics.on_release();
  detail::trace(s, trace_kind::release, {});
}

/// Blocks in use outside all chunks.
template <class State>
std::size_t apart([[maybe_unused]] const State& s) noexcept {
  if constexpr (State::traits::samples) return s.checking.live();
  else return 0;
}
/// Blocks moved between the front of the list and what is behind it.
template <class State>
TARN_STEP void on_outside([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::is_listed) s.name.on_outside(s.list.outside(s.chunks) + detail::apart(s));
}
/// The same, called under the hit lock.
template <class State>
TARN_STEP void on_outside_in_hit([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::is_listed) {
    const look_lock looking(s);
    detail::on_outside(s);
  }
}

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_EVENTS_H_

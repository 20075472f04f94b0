// One block out, one block in, where no call is refused.
//
//   take   [hit: pop, count]
//   put    [hit: count, push]
#ifndef TARN_ALLOCATOR_DETAIL_POOL_PLAIN_PATH_H_
#define TARN_ALLOCATOR_DETAIL_POOL_PLAIN_PATH_H_

#include <cstddef>

#include "tarn/allocator/detail/pool/block_steps.h"
#include "tarn/allocator/detail/pool/listing.h"
#include "tarn/allocator/detail/pool/telling.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/span.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

/// The same names as checked_path's.
template <class State>
struct plain_path {
  /// What is noted until nothing is held: here, nothing.
  struct notes {};

  TARN_STEP static constexpr bool admits_caller(State&) noexcept { return true; }
  static constexpr bool admits(State&, void*) noexcept { return true; }
  static constexpr void tell(State&, notes) noexcept {}
  TARN_STEP static constexpr void tell_of_store(State&) noexcept {}
  TARN_STEP static constexpr void be_listed(State&) noexcept {}
  TARN_STEP static constexpr void end(State&) noexcept {}

  TARN_STEP static void* take(State& s) noexcept {
    [[maybe_unused]] const auto guard = s.locking.hit_guard();
    void* const block = s.locking.pop(s);
    if constexpr (tries)
      if (block != nullptr && !s.statistics.try_on_allocate()) [[unlikely]] return count(s, block);
    return handed_out(s, block, !tries);
  }
  static void* take_slow(State& s) noexcept {
    [[maybe_unused]] const auto guard = s.locking.hit_guard();
    void* const block = s.locking.pop_slow(s);
    note_outside_in_hit(s);
    return handed_out(s, block);
  }
  static void* take_slow(State& s, notes) noexcept { return take_slow(s); }

  TARN_STEP static status put(State& s, void* block) noexcept {
    if constexpr (memory_tools::active) memory_tools::take_back(block);
    [[maybe_unused]] const auto guard = s.locking.hit_guard();
    if constexpr (!tries) s.statistics.on_deallocate(1);
    else if (!s.statistics.try_on_deallocate()) [[unlikely]] return status::uncounted;
    tell_of_free(s, block);
    if constexpr (memory_tools::active) poison_block(s, block);
    const status answer = s.locking.push(s, block);
    return State::hits_unguarded ? answer : make_room_if(s, answer);
  }
  /// As put(), but the block goes nowhere. Returns whether it may.
  static bool retire(State& s, void* block) noexcept {
    memory_tools::take_back(block);
    [[maybe_unused]] const auto guard = s.locking.hit_guard();
    s.statistics.on_deallocate(1);
    tell_of_free(s, block);
    poison_block(s, block);
    return true;
  }
  /// What put() hasn't done where it answered `uncounted`.
  static void count_put(State& s, void* block) noexcept {
    s.statistics.on_deallocate(1);
    tell_of_free(s, block);
    poison_block(s, block);
  }
  static status put_slow(State& s, void* block) noexcept {
    [[maybe_unused]] const auto guard = s.locking.hit_guard();
    return make_room_if(s, s.locking.push_slow(s, block));
  }

  static std::size_t take_batch(State& s, span<void*> out) noexcept {
    [[maybe_unused]] const auto guard = s.locking.hit_guard();
    const std::size_t got = s.locking.pop_batch(s, out.data(), out.size());
    note_outside_in_hit(s);
    for ([[maybe_unused]] void* const block : out.first(got)) open_block(s, block);
    s.statistics.on_allocate(got);
    tell_of_blocks(s, trace_kind::allocate, out.first(got));
    return got;
  }
  static status put_batch(State& s, span<void* const> blocks) noexcept {
    for (void* const block : blocks) {
      memory_tools::take_back(block);
      poison_block(s, block);
    }
    [[maybe_unused]] const auto guard = s.locking.hit_guard();
    s.statistics.on_deallocate(blocks.size());
    tell_of_blocks(s, trace_kind::free, blocks);
    return s.locking.push_batch(s, blocks.data(), blocks.size());
  }

 private:
  static constexpr bool tries = State::traits::statistics::traits.can_try;

  /// A call at the end: a hit has no frame for it.
  TARN_RETURNS_NONNULL TARN_NOINLINE static void* count(State& s, void* block) noexcept { return handed_out(s, block); }
  TARN_STEP static void* handed_out(State& s, void* block, bool counts = true) noexcept {
    if (block != nullptr) [[likely]] {
      if constexpr (memory_tools::active) open_block(s, block);
      if (counts) s.statistics.on_allocate(1);
      tell_of_allocation(s, block);
    }
    return block;
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_PLAIN_PATH_H_

// Allocates and frees one block, if no call can be refused.
//
//   take   [hit: pop, count]
//   put    [hit: count, push]
#ifndef TARN_ALLOCATOR_DETAIL_POOL_PLAIN_PATH_H_
#define TARN_ALLOCATOR_DETAIL_POOL_PLAIN_PATH_H_

#include <cstddef>

#include "tarn/allocator/detail/pool/checks.h"
#include "tarn/allocator/detail/pool/events.h"
#include "tarn/allocator/detail/pool/locks.h"
#include "tarn/allocator/detail/pool/waiting.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

/// The same names as checked_path's.
template <class State>
struct plain_path {
  /// What is noted until nothing is held (here, nothing).
  struct notes {};
  static constexpr void report_if_seen(State&, notes) noexcept {}

  TARN_STEP static constexpr bool admits_caller(State&) noexcept { return true; }
  static constexpr bool admits(State& s, void* block) noexcept { return checks::admits(s, block); }
  TARN_STEP static constexpr void report_own_store(State&) noexcept {}
  TARN_STEP static constexpr void end(State&) noexcept {}

  /// Whether the caller calls is_checked(), after take() and before put(), so that a hit needs no stack frame for the checks.
  /// If a hit holds a lock, take() and put() call it under the lock.
  static constexpr bool leaves_checks = switched<State>::can_be_on && State::hits_unguarded;
  TARN_STEP static bool is_checked(const State& s) noexcept { return switched<State>::is_on(s); }
  /// The block that take() returned, or null if it must not be allocated.
  static void* checked_now(State& s, void* block) noexcept {
    if (checks::comes_out(s, block)) return block;
    detail::on_deallocate(s, block);
    return nullptr;
  }

  TARN_STEP static void* take(State& s) noexcept {
    const hit_lock guard(s);
    void* const block = s.locking.pop(s);
    if constexpr (checks::can_be_on && !leaves_checks)
      return checks::is_on(s) ? handed_out_checked(s, block) : take_held(s, block);
    else return take_held(s, block);
  }
  static void* take_slow(State& s) noexcept {
    const hit_lock guard(s);
    void* const block = s.locking.pop_slow(s);
    on_outside_if(s, block != nullptr);
    return checks::is_on(s) ? handed_out_checked(s, block) : handed_out(s, block);
  }
  static void* take_slow(State& s, notes) noexcept { return take_slow(s); }
  /// Allocates a block that is in no list.
  static void* take_given(State& s, void* block, notes) noexcept {
    const hit_lock guard(s);
    return checks::is_on(s) ? handed_out_checked(s, block) : handed_out(s, block);
  }

  TARN_STEP static status put(State& s, void* block) noexcept {
    if constexpr (memory_tools::active) memory_tools::take_back(block);
    const hit_lock guard(s);
    if constexpr (checks::can_be_on && !leaves_checks) return checks::is_on(s) ? put_checked(s, block) : put_held(s, block);
    else return put_held(s, block);
  }
  TARN_COLD static status put_checked(State& s, void* block) noexcept {
    return checks::comes_in(s, block) ? put_held(s, block) : status::refused;
  }
  /// As put(), but the block enters no list. Returns whether the free is valid.
  static bool retire(State& s, void* block) noexcept {
    memory_tools::take_back(block);
    const hit_lock guard(s);
    if (checks::is_on(s) && !checks::comes_in(s, block)) return false;
    count_put(s, block);
    return true;
  }
  /// What put() left undone if it returned `uncounted`.
  static void count_put(State& s, void* block) noexcept {
    detail::on_deallocate(s, block);
    detail::poison_block(s, block);
  }

  static std::size_t take_batch(State& s, span<void*> out) noexcept {
    const hit_lock guard(s);
    std::size_t got = s.locking.pop_batch(s, out.data(), out.size());
    on_outside_if(s, got != 0);
    if (checks::is_on(s)) got = those_that_come_out(s, out.first(got));
    for ([[maybe_unused]] void* const block : out.first(got)) detail::open_block(s, block);
    detail::on_allocate(s, out.first(got));
    return got;
  }
  static status put_batch(State& s, span<void* const> blocks) noexcept {
    for (void* const block : blocks) {
      memory_tools::take_back(block);
      detail::poison_block(s, block);
    }
    [[maybe_unused]] served_of<State> served;
    const hit_lock guard(s);
    return checks::is_on(s) ? put_each(s, blocks, served) : put_all(s, blocks, served);
  }

 private:
  using checks = switched<State>;
  /// With lock_free a refusal waits for no thread, so not for the core lock either.
  TARN_STEP static void on_outside_if(State& s, bool got) noexcept {
    if (got || !State::traits::locking::traits.own_free_list) detail::on_outside_in_hit(s);
  }
  static constexpr bool tries = State::traits::statistics::traits.can_try;

  TARN_STEP static status put_held(State& s, void* block) noexcept {
    if constexpr (tries)
      if (!s.statistics.try_on_deallocate()) [[unlikely]] return status::uncounted;
    detail::on_deallocate(s, block, !tries);
    if constexpr (memory_tools::active) detail::poison_block(s, block);
    return detail::push(s, block);
  }
  static status put_all(State& s, span<void* const> blocks, [[maybe_unused]] served_of<State>& served) noexcept {
    detail::on_deallocate(s, blocks);
    if constexpr (State::traits::waits)
      if (detail::is_awaited(s)) [[unlikely]] blocks = blocks.subspan(detail::give_to_line(s, blocks, served));
    return s.locking.push_batch(s, blocks.data(), blocks.size());
  }
  /// Frees the blocks that may be freed.
  static status put_each(State& s, span<void* const> blocks, served_of<State>& served) noexcept {
    status answer = status::done;
    for (std::size_t i = 0; i != blocks.size(); ++i) {
      if (!checks::comes_in(s, blocks[i])) continue;
      const status its = put_all(s, blocks.subspan(i).first(1), served);
      if (its != status::done) answer = its;
    }
    return answer;
  }
  /// Moves the blocks that may be allocated to the front. Returns how many.
  static std::size_t those_that_come_out(State& s, span<void*> blocks) noexcept {
    std::size_t n = 0;
    for (void* const block : blocks)
      if (checks::comes_out(s, block)) blocks[n++] = block;
    return n;
  }
  TARN_COLD static void* handed_out_checked(State& s, void* block) noexcept {
    return handed_out(s, checks::comes_out(s, block) ? block : nullptr);
  }

  TARN_STEP static void* take_held(State& s, void* block) noexcept {
    if constexpr (tries)
      if (block != nullptr && !s.statistics.try_on_allocate()) [[unlikely]] return count(s, block);
    return handed_out(s, block, !tries);
  }
  /// A tail call, so that a hit needs no stack frame for it.
  TARN_RETURNS_NONNULL TARN_NOINLINE static void* count(State& s, void* block) noexcept { return handed_out(s, block); }
  TARN_STEP static void* handed_out(State& s, void* block, bool counts = true) noexcept {
    if (block != nullptr) [[likely]] {
      if constexpr (memory_tools::active) detail::open_block(s, block);
      detail::on_allocate(s, block, counts);
    }
    return block;
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_PLAIN_PATH_H_

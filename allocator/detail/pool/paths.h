// Allocates and frees one block: plain_path if no call can be refused, otherwise checked_path. Checks run before anything is
// changed; misuse is reported when nothing is held.
//
//   take   [hit: pop, verdict, count]     the result isn't a free block: take_carefully
//   put    [hit: verdict, count, push]    refused: examined again to describe it, then reported
//
// If a hit holds no lock, the checks run under the core lock, which protects what they look up. sampled_path is for blocks from
// the checking policy's own memory, which never enter the list.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_PATHS_H_
#define TARN_ALLOCATOR_DETAIL_POOL_PATHS_H_

#include <cstddef>

#include "tarn/allocator/detail/core/free_blocks.h"
#include "tarn/allocator/detail/pool/events.h"
#include "tarn/allocator/detail/pool/locks.h"
#include "tarn/allocator/detail/pool/waiting.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

/// Without verdicts.
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

/// The same names as plain_path's.
template <class State>
struct checked_path : admission<State> {
  using notes = pending_report;
  static constexpr bool leaves_checks = false;

  static void* take(State& s) noexcept {
    if constexpr (State::traits::has_one_way) return take_slow(s);
    void* block;
    {
      const hit_lock guard(s);
      block = s.locking.pop(s);
      if (block == nullptr) [[unlikely]] return nullptr;
      const look_lock looking(s);
      if ((TARN_FOR_SIZE ? comes_out(s, block) : s.checking.on_allocate(s.chunks, block)) == status::done) [[likely]]
        return handed_out(s, block);
    }
    return take_carefully(s, block);
  }
  static void* take_slow(State& s) noexcept {
    pending_report one;
    void* const block = take_slow(s, one);
    admission<State>::report_if_seen(s, one);
    return block;
  }
  static void* take_slow(State& s, pending_report& one) noexcept { return take_carefully(s, nullptr, one); }
  /// Allocates a block that is in no list.
  static void* take_given(State& s, void* block, pending_report& one) noexcept { return take_carefully(s, block, one); }

  static void count_put(State&, void*) noexcept {}  // put() does
  static status put(State& s, void* block) noexcept {
    {
      const hit_lock guard(s);
      if (may_go(s, block)) [[likely]] return take_back(s, block);
    }
    const status answer = refuse(s, block);
    return State::traits::has_chunk_table ? answer : status::refused;
  }
  /// As put(), but the block enters no list. Returns whether the free is valid.
  static bool retire(State& s, void* block) noexcept {
    {
      const hit_lock guard(s);
      bool may = may_go(s, block);
      if constexpr (State::traits::has_chunk_table) may = may || may_go_after_all(s, block);  // else refuse() would put it back
      if (may) [[likely]] {
        detail::on_deallocate(s, block);
        return true;
      }
    }
    refuse(s, block);
    return false;
  }
  /// Reuses a block in use as a newly allocated one, checked as if it had been freed before. Returns whether it could; if not,
  /// that was reported.
  static bool hand_on(State& s, void* block) noexcept {
    {
      const hit_lock guard(s);
      const look_lock looking(s);
      [[maybe_unused]] const auto in_front = s.chunks.bring_in_front(block);
      if (comes_in(s, block) == status::done && comes_out(s, block) == status::done) {
        detail::open_block(s, block);  // again: the check has poisoned it
        return true;
      }
    }
    static_cast<void>(admission<State>::admits(s, block));
    return false;
  }

  static std::size_t take_batch(State& s, span<void*> out) noexcept {
    std::size_t got = 0;
    while (got != out.size() && (out[got] = take(s)) != nullptr) ++got;
    return got;
  }

 private:
  /// Poisoned under the same lock, because after that another thread's verify() may inspect the free block.
  TARN_STEP static bool may_go(State& s, void* block) noexcept {
    const look_lock looking(s);
    if ((TARN_FOR_SIZE ? comes_in(s, block) : s.checking.on_deallocate(s.chunks, block)) != status::done) [[unlikely]]
      return false;
    detail::poison_block(s, block);
    return true;
  }
  /// The same, if the chunk of the block must be searched for.
  static bool may_go_after_all(State& s, void* block) noexcept {
    const look_lock looking(s);
    const auto in_front = s.chunks.bring_in_front(block);
    if (!in_front || comes_in(s, block) != status::done) return false;
    detail::poison_block(s, block);
    return true;
  }
  // For all but hits, into which the checks are inlined unless size counts.
  static status comes_in(State& s, void* block) noexcept { return s.checking.on_deallocate(s.chunks, block); }
  static status comes_out(State& s, void* block) noexcept { return s.checking.on_allocate(s.chunks, block); }
  TARN_STEP static status take_back(State& s, void* block) noexcept {
    detail::on_deallocate(s, block);
    return detail::push(s, block);
  }
  TARN_STEP static void* handed_out(State& s, void* block) noexcept {
    detail::open_block(s, block);
    detail::on_allocate(s, block);
    return block;
  }

  /// Examines the block again to describe what is wrong. In between, another thread may have allocated the block, so that it
  /// looks valid.
  TARN_COLD static status refuse(State& s, void* block) noexcept {
    TARN_NOT_IF(no_misuse);
    if constexpr (State::traits::has_chunk_table) {
      const hit_lock guard(s);
      if (may_go_after_all(s, block)) return take_back(s, block);
    }
    pending_report one;
    {
      const core_lock guard(s);
      s.checking.describe_deallocate(s.chunks, block, one);
      if constexpr (State::traits::guards_records) detail::note_overrun(s, one);  // preferred: the block may be valid
    }
    if (!one.seen()) one.note(misuse_kind::double_free, block);
    if (one.what().kind == misuse_kind::ended_pool) s.locking.end();  // the guard entered lists again that the pool had left
    detail::report(s, one);
    return status::refused;
  }

  /// Returns a block that the checking policy knows as free: `block`, which came from the list, if it is one. If it isn't,
  /// something wrote into the pool's memory: `block` is dropped, and the list rebuilt.
  static void* take_carefully(State& s, void* block, pending_report& one) noexcept {
    const hit_lock guard(s);
    if constexpr (State::traits::in_place && requires { s.checking.lies_in(detail::pointer_to(s)); })
      s.checking.lies_in(detail::pointer_to(s));
    for (int mended = 0;; block = nullptr) {
      if (block == nullptr) block = s.locking.pop_slow(s);
      const look_lock looking(s);
      detail::on_outside(s);
      if (is_astray(s, one)) [[unlikely]] {
        if (!mend_list(s, mended++)) return nullptr;
        continue;
      }
      if (block == nullptr) return nullptr;
      [[maybe_unused]] const auto in_front = s.chunks.bring_in_front(block);
      const status verdict = comes_out(s, block);
      if (verdict != status::done) s.checking.describe_allocate(s.chunks, block, one);
      if (verdict != status::refused) return handed_out(s, block);
      if (!mend_list(s, mended++)) return nullptr;
    }
  }
  TARN_COLD static void* take_carefully(State& s, void* block) noexcept {
    pending_report one;
    void* const other = take_carefully(s, block, one);
    admission<State>::report_if_seen(s, one);
    detail::report_overrun(s);
    return other;
  }

  static constexpr bool mends = State::traits::hides_links;
  /// Whether the list read an invalid link.
  static bool is_astray(State& s, pending_report& one) noexcept {
    if constexpr (mends) {
      const void* const address = s.chunks.distrusted();
      if (address == nullptr) [[likely]] return false;
      s.checking.on_astray(s.chunks, address, one);
      return true;
    } else {
      return false;
    }
  }
  /// If a rebuilt list is wrong again, its source is wrong, so the list and its blocks are given up. Returns whether to
  /// continue.
  TARN_COLD static bool mend_list(State& s, int mended) noexcept {
    TARN_NOT_IF(no_misuse);
    if constexpr (mends && State::traits::list_holds_all) {
      if (mended == 0) {
        detail::mend(s);
        return true;
      }
      s.chunks.trust_again();
      s.list.forget();
      return mended == 1;
    } else {
      if constexpr (mends) detail::mend(s);
      return true;  // without the block that was wrong
    }
  }
};

template <class State>
struct sampled_path {
  /// A sampled block if this call is due for one, otherwise null.
  static void* take(State& s) noexcept {
    if (!s.checking.due()) [[likely]] return nullptr;
    return take_due(s);
  }
  static bool owns(const State& s, const void* address) noexcept { return s.checking.owns(address); }
  TARN_COLD static void put(State& s, void* block) noexcept {
    pending_report one;
    {
      const core_lock guard(s);
      if (s.checking.give(block, one)) detail::on_deallocate(s, block);
    }
    if (!one.seen()) return;
    detail::name_pool(s, one.what());
    s.checking.report_sampled(one.what());
  }
  /// Whether a sampled block could be freed. If not, that was reported.
  static bool admits(State& s, void* block) noexcept {
    const bool is_live = [&] {
      const core_lock guard(s);
      return s.checking.is_live(block);
    }();
    if (!is_live) put(s, block);  // which reports what is wrong
    return is_live;
  }
  static void drop(State& s) noexcept {
    const core_lock guard(s);
    s.checking.drop_sampled();
  }

  /// For a handler of SIGSEGV: whether a sampled block is near the address, and its state.
  static bool explain_fault(const State& s, const void* address, misuse& what) noexcept {
    if (!s.checking.describe_fault(address, what)) return false;
    detail::name_pool(s, what);
    return true;
  }

 private:
  TARN_COLD static void* take_due(State& s) noexcept {
    if constexpr (State::traits::checking::traits.tells_in_use) admission<State>::be_listed(s);
    const core_lock guard(s);
    void* const block = s.checking.take(s.chunks.geometry().block_size(), s.chunks.geometry().block_alignment());
    if (block != nullptr) detail::on_allocate(s, block);
    detail::on_outside(s);
    return block;
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_PATHS_H_

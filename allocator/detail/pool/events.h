// What is reported about a call: its events, what is checked around it, and the misuse that was found.
//
// Each event is reported here to all observers: the statistics policy, its trace, the registry, and tools that know which
// memory may be used. An observer that isn't there costs nothing.
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
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/call_frame.h"
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

// ---- checks around a call, and the reports, which are sent when nothing is held. docs/design.md lists the order -----------
//
//   report_pending   called at the end of every slow call: reports what that found
//   admission        whether a call continues, in pools whose checking policy can refuse it
//   switched         what a hit checks if checks were switched on at run time; off, it is one branch
//                    take   [hit: pop · on: chunk and record of the block]     wrong: null, so that the slow path continues
//                    put    [hit: on: chunk and record of the block · push]    wrong: refused

// ---- reports ---------------------------------------------------------------------------------------------------------------

/// The address of its state identifies the pool.
void name_pool(const auto& s, misuse& what) noexcept {
  what.pool = detail::pointer_to(s);
  what.block_size = s.chunks.geometry().block_size();
}
TARN_NONBLOCKING_BEGIN_
/// Reports what was noted, with nothing held. Called only in a wrong program.
TARN_COLD void report(auto& s, pending_report& one) noexcept TARN_NONBLOCKING_IF_(true) {
  detail::name_pool(s, one.what());
  s.checking.report(one.what());
}
TARN_NONBLOCKING_END_
/// Reports what find(one) notes under the core lock. Returns whether it found something.
bool report_found(auto& s, auto find) noexcept {
  pending_report one;
  {
    const core_lock guard(s);  // a signal handler that frees here is refused
    if (!find(one)) return false;
  }
  detail::report(s, one);
  return true;
}

/// Whether the record of a chunk was found to be overwritten. Called under the core lock.
bool note_overrun(auto& s, pending_report& one) noexcept {
  const auto* const chunk = s.chunks.take_overrun();
  if (chunk != nullptr) one.note(misuse_kind::corrupt_chunk, chunk);
  return chunk != nullptr;
}
template <class State>
TARN_STEP void report_overrun([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::guards_records)
    detail::report_found(s, [&s](pending_report& one) { return detail::note_overrun(s, one); });
}
/// What a hit with checks switched on found.
template <class State>
TARN_STEP void report_noted([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::checking::traits.switches)
    if (s.checking.is_on()) [[unlikely]]
      detail::report_found(s, [&s](pending_report& one) { return s.checking.take_noted(s.chunks, one); });
}
/// A region that the store should not have returned.
void report_broken_store(auto& s) noexcept {
  const auto broken = [&s] {
    const growth_lock growing(s);
    return growing.is_held() ? s.upstream.take_broken() : decltype(s.upstream.take_broken())();
  }();
  if (!broken.region) return;
  pending_report one;
  misuse& what = one.note(misuse_kind::broken_store, broken.region.start);
  what.size = broken.region.bytes;
  what.alignment = broken.alignment;
  detail::report(s, one);
}

/// The end of a slow call, with nothing held: reports what the call found.
template <class State>
void report_pending([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::checks_leaving)
    detail::report_found(s, [&s](pending_report& one) { return s.chunks.take_left_wrong(one); });
  detail::report_noted(s);
  detail::report_overrun(s);
}
/// The same if the store, which may also have something to report, may have been called.
/// \param tells  false: the caller holds something, and calls upstream.tell() once it holds nothing
template <class State>
void report_pending_of_store(State& s, bool tells = true) noexcept {
  detail::report_pending(s);
  if constexpr (State::traits::checking::traits.refuses && !State::traits::in_place) detail::report_broken_store(s);
  if (tells && !detail::grows_here(s)) s.upstream.tell();
}

// ---- whether a call goes on ------------------------------------------------------------------------------------------------

/// Whether a block can be freed now. If not, that was reported.
bool can_be_freed(auto& s, void* block) noexcept {
  return !detail::report_found(s, [&](pending_report& one) {
    s.checking.describe_deallocate(s.chunks, block, one);
    return one.seen();
  });
}

template <class State>
struct admission {
  using traits = typename State::traits;

  TARN_STEP static void report_if_seen(State& s, pending_report& one) noexcept {
    if (one.seen()) [[unlikely]] detail::report(s, one);
  }
  /// The pool's store made a call that needs the store.
  static void report_own_store([[maybe_unused]] State& s) noexcept {
    if constexpr (traits::tells_reentry)
      if (call_frame* const outer = call_frame::in(detail::pointer_to(s))) report_reentry(s, *outer);
  }

  /// Whether the calling thread may use the pool. If not, that was reported.
  TARN_STEP static bool admits_caller(State& s) noexcept {
    if (!is_outside(s)) [[unlikely]] return false;
    if constexpr (traits::checking::traits.knows_owner && traits::locking::traits.one_thread) {
      pending_report one;
      if (!s.checking.admits_caller(one)) [[unlikely]] {
        detail::report(s, one);
        return false;
      }
    }
    return true;
  }
  /// Whether a block can be freed now. If not, that was reported, unless it is null.
  static bool admits(State& s, void* block) noexcept {
    return block != nullptr && admits_caller(s) && detail::can_be_freed(s, block);
  }
  /// Whether a block of this pool can have that size and alignment. If not, that was reported for `block`.
  static bool admits_size(State& s, void* block, std::size_t bytes, std::size_t alignment) noexcept {
    const auto& g = s.chunks.geometry();
    if (bytes <= g.block_size() && alignment <= g.block_alignment()) [[likely]] return true;
    pending_report one;
    misuse& what = one.note(misuse_kind::wrong_size, block);
    what.size = bytes;
    what.alignment = alignment;
    detail::report(s, one);
    return false;
  }
  /// Reports that an object of `bytes` bytes or, if 0, an array is deleted.
  TARN_COLD static void refuse_delete(State& s, void* block, std::size_t bytes) noexcept {
    pending_report one;
    one.note(bytes == 0 ? misuse_kind::array_delete : misuse_kind::wrong_size, block).size = bytes;
    detail::report(s, one);
  }

  static void note_site(State& s, const void* block, call_site where) noexcept
    requires(traits::has_sites)
  {
    if (!admits_caller(s)) return;
    const core_lock guard(s);
    s.checking.note_site(s.chunks, block, where);
  }

  /// The pool is destroyed: reports what is still in use.
  static void end(State& s) noexcept {
    if constexpr (traits::checking::traits.sees_end) {
      pending_report one;
      const void* leaks[16];
      s.checking.on_end(s.chunks, one, leaks);
      report_if_seen(s, one);
    }
  }

  /// From now on report_in_use() includes the pool, if its checking policy supports that. Called with nothing held, before a
  /// store is.
  static void be_listed(State& s) noexcept {
    if constexpr (traits::checking::traits.tells_in_use) s.checking.be_listed(detail::pointer_to(s), report_in_use);
  }
  /// Reports the blocks in use, for each site or together. Returns how many.
  TARN_COLD static std::size_t report_in_use(void* pool) noexcept
    requires(traits::checking::traits.tells_in_use)
  {
    State& s = *static_cast<State*>(pool);
    std::size_t blocks = 0;
    told_sites told;
    do {
      pending_report one;
      const void* leaks[16];
      {
        const core_lock guard(s);
        s.checking.note_in_use(s.chunks, one, leaks, told);
      }
      if (!one.seen()) break;
      blocks += one.what().leaked;
      detail::report(s, one);
    } while (traits::has_sites && !told.is_over());
    return blocks;
  }

  /// Reports every block with bytes that were overwritten by mistake. Returns how many.
  static std::size_t verify(State& s) noexcept
    requires(traits::can_verify)
  {
    if (!is_outside(s)) return 0;
    const void* from = nullptr;
    const auto next = [&](pending_report& one) { return s.checking.next_damaged(s.chunks, from, one); };
    std::size_t found = 0;
    while (detail::report_found(s, next)) ++found;
    detail::report_overrun(s);
    return found;
  }

 private:
  /// Whether this thread is outside every call of the pool, or at its store, if reentry is tracked. If not, that was reported.
  TARN_STEP static bool is_outside([[maybe_unused]] State& s) noexcept {
    if constexpr (traits::tells_reentry) {
      const call_frame* const last = call_frame::last_in(detail::pointer_to(s));
      if (last != nullptr && !last->is_at_store()) [[unlikely]] {
        report_reentry(s, *call_frame::in(detail::pointer_to(s)));
        return false;
      }
    }
    return true;
  }
  TARN_COLD static void report_reentry(State& s, call_frame& outer) noexcept {
    if (!outer.is_news()) return;
    pending_report one;
    one.note(misuse_kind::reentry, nullptr).thread = this_thread_number();
    detail::report(s, one);
  }
};

// ---- checks that can be switched on ----------------------------------------------------------------------------------------

/// For pools whose checks are never on.
template <class State>
struct switched {
  static constexpr bool can_be_on = false;

  TARN_STEP static constexpr bool is_on(const State&) noexcept { return false; }
  static constexpr bool comes_out(State&, void*) noexcept { return true; }
  static constexpr bool comes_in(State&, void*) noexcept { return true; }
  static constexpr bool admits(State&, void*) noexcept { return true; }
};
template <class State>
  requires(State::traits::checking::traits.switches)
struct switched<State> {
  static constexpr bool can_be_on = true;

  TARN_STEP static bool is_on(const State& s) noexcept { return s.checking.is_on(); }
  /// Whether a block from the list may be allocated; null: yes. Called under the hit lock.
  TARN_NOINLINE static bool comes_out(State& s, void* block) noexcept {
    if (block == nullptr) return true;
    const look_lock looking(s);
    return s.checking.comes_out(s.chunks, block);
  }
  /// Whether a block may be freed; null: yes. Called under the hit lock.
  TARN_NOINLINE static bool comes_in(State& s, void* block) noexcept {
    if (block == nullptr) return true;
    const look_lock looking(s);
    return s.checking.comes_in(s.chunks, block);
  }
  static bool admits(State& s, void* block) noexcept { return !is_on(s) || detail::can_be_freed(s, block); }

  /// Switches the checks of a pool. Returns whether it could. They can't be switched on if a hit holds no lock, because a hit
  /// in progress may already have decided not to check.
  /// \param is_owner  the pool has no lock, and belongs to this thread
  static bool switch_to(State& s, bool now, bool is_owner) noexcept {
    if (!now) return s.checking.switch_off(), true;
    if (State::is_confined ? !is_owner : State::hits_unguarded) return s.checking.is_on();
    const core_lock guard(s);
    if (!s.checking.is_on()) s.checking.switch_on(s.chunks);
    return true;
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_EVENTS_H_

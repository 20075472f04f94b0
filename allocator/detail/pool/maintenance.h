// What maintain() does: a step at a time, so that it exceeds a deadline by at most one step.
//
//   step    [growth: a slice is taken, or: a chunk is adopted, fetched or given back] · the slice is filled, with nothing held
//
// A chunk is fetched, filled and adopted before the next is. While it is filled it is part of the state (chunk_ahead), so no
// thread owns it. Another maintain() continues with it; an allocation that finds no block takes it as it is; trim() and
// release() return it; and the child of a fork has it as well. A slice is filled inside the gate of forks, so in a child none
// is half filled.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_MAINTENANCE_H_
#define TARN_ALLOCATOR_DETAIL_POOL_MAINTENANCE_H_

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/pool/growth.h"
#include "tarn/allocator/detail/pool/locks.h"
#include "tarn/policies/detail/fork.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/growth.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// When maintain() has to return, for any clock.
class deadline {
 public:
  constexpr deadline() noexcept = default;  // never
  template <class TimePoint>
  explicit deadline(const TimePoint& at) noexcept
      : at_(detail::pointer_to(at)), has_passed_([](const void* its) noexcept {
          return !(TimePoint::clock::now() < *static_cast<const TimePoint*>(its));
        }) {}
  bool has_passed() const noexcept { return has_passed_ != nullptr && has_passed_(at_); }

 private:
  const void* at_ = nullptr;
  bool (*has_passed_)(const void*) noexcept = nullptr;
};
/// A std::chrono::time_point, or a similar type.
template <class T>
concept point_in_time = requires(const T& at) {
  { T::clock::now() < at } -> std::convertible_to<bool>;
};

template <class State>
struct maintenance {
  using traits = typename State::traits;

  static maintained run(State& s, deadline until) noexcept {
    so_far seen;
    s.ahead.be_maintained();
    do {
      switch (step(s, seen)) {
        case next::step: break;
        case next::nothing: return seen.refused ? maintained::refused : maintained::done;
        case next::others: return maintained::unfinished;
      }
    } while (!until.has_passed());
    return seen.refused ? maintained::refused : maintained::unfinished;
  }

 private:
  enum class next { step, nothing, others };  // others: another thread is doing it
  struct so_far {
    bool refused = false;  // growth refused: it isn't tried again
    bool surplus = false;  // there was one: chunks are returned down to what the policy keeps
  };

  static next step(State& s, so_far& seen) noexcept {
    // Also around the growth lock, so that a slice that is taken is filled before a fork continues.
    [[maybe_unused]] const std::conditional_t<traits::locking::traits.one_thread, no_guard, inside_gate> stay;
    memory slice;
    next answer = next::nothing;
    {
      const growth_lock growing(s);
      if (!growing.is_held()) return next::others;
      if constexpr (traits::grows_ahead) answer = prepare(s, growing, slice, seen);
      if (answer == next::nothing) answer = thin(s, seen);
      if constexpr (traits::grows_ahead)
        if (answer == next::nothing && !seen.refused) answer = get_ahead(s, growing, seen);
    }
    if constexpr (traits::grows_ahead)
      if (slice) s.ahead.filled(traits::growth::fill(static_cast<std::byte*>(slice.start), slice.bytes));
    return answer;
  }

  /// Continues with the chunk that was fetched, if there is one.
  static next prepare(State& s, const growth_lock<State>& growing, memory& slice, so_far& seen) noexcept {
    const auto* const c = s.ahead.get();
    if (c == nullptr) return next::nothing;
    if (!s.ahead.was_refused() && (slice = s.ahead.take_slice())) return next::step;
    if (s.ahead.is_being_filled()) return next::others;
    const std::size_t blocks = c->blocks;
    if (!s.ahead.was_refused() && detail::adopt_ahead(s, growing)) {
      s.locking.expect(blocks);
    } else {
      seen.refused = true;
      detail::give_back(s, s.ahead.end());
    }
    return next::step;
  }
  /// Blocks whose pages were returned count as well, because otherwise chunks would repeatedly replace returned pages.
  static bool lacks_blocks(State& s) noexcept {
    if constexpr (traits::returns_pages) return s.chunks.capacity() - s.list.outside(s.chunks) < s.chunks.watermark();
    else return s.chunks.is_below_watermark();
  }
  /// Gets a chunk if fewer blocks are ready than required; before that, the other memory that allocations would need.
  static next get_ahead(State& s, const growth_lock<State>& growing, so_far& seen) noexcept {
    if (!detail::top_up(s, growing)) return seen.refused = true, next::step;
    {
      const core_lock guard(s);
      if (!lacks_blocks(s)) return next::nothing;
    }
    if (s.ahead.is_being_filled()) return next::others;  // one that an allocation took
    attempt_at<State> one;
    growth<State> fresh(s, growing);
    if (fresh.fetch(one)) s.ahead.begin(*fresh.forget());
    else seen.refused = true;
    return next::step;
  }
  /// Frees one of the chunks, or some of the pages, that the retention policy doesn't keep.
  static next thin(State& s, [[maybe_unused]] so_far& seen) noexcept {
    if (s.chunks.are_kept()) return next::nothing;
    if constexpr (traits::returns_pages) {
      if (detail::return_surplus(s) != 0) return next::step;
    } else if constexpr (traits::retention::traits.tells_surplus) {
      const auto one = [&](State& its) {
        seen.surplus = seen.surplus || its.chunks.has_surplus();
        const std::size_t empty = its.list.empty_chunks();
        return detail::unlink_surplus(its, seen.surplus && empty != 0 ? larger(its.chunks.keep(), empty - 1) : empty);
      };
      if (detail::return_chunks(s, one) != 0) return next::step;
    }
    return next::nothing;
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_MAINTENANCE_H_

// How chunks are given back.
//
//   return_chunks    (growth guard) [core: unlink] · store
//   return_pages     (growth guard) [core: take idle pages] · store · [core: those that it refused are as before]
//   come_back        (growth guard) [core: blocks whose pages have gone may be taken again]
#ifndef TARN_ALLOCATOR_DETAIL_POOL_GIVING_BACK_H_
#define TARN_ALLOCATOR_DETAIL_POOL_GIVING_BACK_H_

#include <cstddef>

#include "tarn/allocator/detail/core/free_blocks.h"
#include "tarn/allocator/detail/pool/guards.h"
#include "tarn/allocator/detail/pool/listing.h"
#include "tarn/allocator/detail/pool/telling.h"
#include "tarn/allocator/detail/pool/waiting.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/reclaim_list.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

/// Gives a list of chunks, linked by `next`, back to where they came from. Returns how many bytes.
template <class State>
std::size_t give_back(State& s, typename State::chunk* c) noexcept {
  const auto& g = s.chunks.geometry();
  std::size_t bytes = 0;
  if constexpr (State::traits::grows_ahead)
    if (c != nullptr) s.ahead.wait_for_fillers();
  while (c != nullptr) {
    const memory region = c->region;
    const std::size_t blocks = c->blocks;
    const bool from_second = c->from_second;
    memory_tools::hand_out(c->first, g.extent(blocks));
    c = c->next;  // the record may lie in the region
    bytes += region.bytes;
    if constexpr (decltype(s.supply)::has_second) {
      if (from_second) {
        s.supply.give_back_second(region, blocks, g);
        continue;
      }
    }
    s.supply.give_back(region, g);
  }
  return bytes;
}

/// Gives back the chunks that unlink(s) takes out, under the growth guard. Returns how many bytes.
template <class State, class Unlink>
std::size_t return_chunks(State& s, Unlink unlink) noexcept {
  typename State::chunk* leaving;
  {
    [[maybe_unused]] const auto guard = s.locking.core_guard();
    leaving = unlink(s);
    for (const auto* c = leaving; c != nullptr; c = c->next) {
      detail::note_chunk_gone(s, c->region.bytes);
      detail::tell_of_chunk(s, trace_kind::give_back, c->region);
    }
    detail::note_outside(s);
  }
  return detail::give_back(s, leaving);
}
/// Gives back the chunk that maintain() got and that isn't the pool's yet. Returns how many bytes.
template <class State>
std::size_t return_ahead([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::grows_ahead) return detail::give_back(s, s.ahead.end());
  else return 0;
}
/// Whether a thread fills pages: a chunk that goes back waits for it.
template <class State>
bool is_filling([[maybe_unused]] const State& s) noexcept {
  if constexpr (State::traits::grows_ahead) return s.ahead.is_being_filled();
  else return false;
}
template <class State>
std::size_t return_empty(State& s) noexcept {
  if constexpr (State::traits::in_place) {
    [[maybe_unused]] const auto guard = s.locking.core_guard();
    return detail::forget_if_idle(s);
  } else {
    return detail::return_ahead(s) + detail::return_chunks(s, [](State& its) { return detail::unlink_empty(its); });
  }
}
/// Gives idle pages of chunks back: all, or so many that a free can wait for that. Called under the growth guard, which is all
/// that is held while the system works. Returns how many bytes.
enum class pages_go { some, all };
template <class State>
std::size_t return_pages(State& s, pages_go how) noexcept {
  constexpr std::size_t most = 64;  // runs that one system call takes
  memory runs[most];
  typename State::chunk* of[most];
  std::size_t bytes = 0;
  std::size_t n = 0;
  std::size_t gone = 0;
  do {
    n = [&] {
      [[maybe_unused]] const auto guard = s.locking.core_guard();
      s.chunks.set_pages_go(true);
      return s.list.take_idle(s.chunks, runs, of, most);
    }();
    gone = n != 0 ? s.supply.discard(runs, n) : 0;
    for (std::size_t i = 0; i != gone; ++i) bytes += runs[i].bytes;
    [[maybe_unused]] const auto guard = s.locking.core_guard();
    s.chunks.set_pages_go(false);
    for (std::size_t i = gone; i != n; ++i) s.list.put_back(s.chunks, runs[i], *of[i]);
  } while (how == pages_go::all && n != 0 && gone == n);
  return bytes;
}
/// Called by trim(). Gives back the empty chunks, idle pages and, if no chunk is left and no other thread has a part of it,
/// what the pool keeps for itself. Returns the bytes of chunks and pages.
template <class State>
std::size_t return_idle(State& s) noexcept {
  std::size_t bytes = detail::return_empty(s);
  if constexpr (State::traits::returns_pages) bytes += detail::return_pages(s, pages_go::all);
  if constexpr (State::traits::locking::traits.can_forget) {
    {
      [[maybe_unused]] const auto guard = s.locking.core_guard();
      if (s.chunks.capacity() != 0 || !s.locking.forget_if_alone()) return bytes;
      s.chunks.forget();
    }
    s.supply.drop_own();
  }
  return bytes;
}
/// Gives back every chunk, including those with blocks in use, and the memory that the pool kept for itself.
template <class State>
void return_all(State& s) noexcept {
  s.locking.drop_all();
  if constexpr (State::traits::in_place) {
    [[maybe_unused]] const auto guard = s.locking.core_guard();
    detail::tell_of_release(s);
    s.list.forget();
    s.chunks.forget();
  } else {
    detail::return_ahead(s);
    detail::return_chunks(s, [](State& its) {
      detail::tell_of_release(its);
      return detail::unlink_all(its);
    });
    s.supply.drop_own();
  }
  s.locking.end();
}

template <class State>
bool has_surplus_pages(State& s) noexcept {
  [[maybe_unused]] const auto guard = s.locking.core_guard();
  return s.list.has_surplus_pages(s.chunks);
}
/// Gives back the empty chunks that the retention policy doesn't keep, or some of what it doesn't keep of idle pages. Returns
/// how many bytes.
template <class State>
std::size_t return_surplus(State& s) noexcept {
  if constexpr (State::traits::returns_pages) {
    constexpr std::size_t most = 4 * 1024 * 1024;  // so that the caller doesn't wait for long
    const std::size_t bytes = detail::return_chunks(s, [](State& its) { return detail::unlink_idle(its, most); });
    return bytes != 0 || !detail::has_surplus_pages(s) ? bytes : detail::return_pages(s, pages_go::some);
  } else {
    return detail::return_chunks(s, [](State& its) { return detail::unlink_surplus(its, its.chunks.keep()); });
  }
}
/// Whether the growth guard can be had, or not, without waiting for another thread.
template <class State>
inline constexpr bool need_not_wait = State::is_confined || State::traits::locking::traits.can_try;
/// Blocks whose pages have gone are free again, some at a time. Returns whether there were some. \param may_grow  whether the
/// growth guard is held; if not, the caller may be at the store, and hold it further out.
template <class State>
bool come_back([[maybe_unused]] State& s, [[maybe_unused]] bool may_grow) noexcept {
  if constexpr (State::traits::returns_pages) {
    if (!may_grow && !detail::grows_here(s)) return false;
    [[maybe_unused]] served_of<State> served;
    [[maybe_unused]] const auto guard = s.locking.core_guard();
    if (!may_grow && s.chunks.pages_go()) return false;  // these may be on their way
    const bool some = s.list.come_back();
    detail::serve(s, served);
    return some;
  } else {
    return false;
  }
}
/// Called by a free, which waits for no other thread: if one is at the store, or fills pages, they stay until the next time;
/// under a mutex that can't be tried, until an allocation finds no block.
template <class State>
TARN_COLD void give_surplus_back(State& s) noexcept {
  if constexpr (State::traits::retention::traits.returns_chunks) {
    if constexpr (State::traits::locking::traits.can_try) {
      const auto growing = detail::try_growth_guard(s);
      if (detail::is_held(growing) && !detail::is_filling(s)) detail::return_surplus(s);
    } else if constexpr (need_not_wait<State>) {
      if (const auto growing = detail::growth_guard(s); detail::is_held(growing)) detail::return_surplus(s);
    }
  }
}
/// Called with the growth guard held.
template <class State>
TARN_STEP void return_surplus_of_frees(State& s) noexcept {
  if constexpr (State::traits::retention::traits.returns_chunks && !need_not_wait<State>) detail::return_surplus(s);
}

/// As trim(), called by another pool's thread, which must not wait.
template <class State>
trimmed trim_if_idle(State& s) noexcept {
  if constexpr (State::is_confined) {
    s.locking.drain(s);
    const auto growing = detail::growth_guard(s);
    if (!detail::is_held(growing)) return {};
    if constexpr (State::traits::exhaustion::traits.hears_asks) s.supply.asked();
    return {detail::return_idle(s)};
  } else {
    const auto growing = detail::try_growth_guard(s);
    if (!detail::is_held(growing) || detail::is_filling(s)) return {0, true};
    if constexpr (State::traits::exhaustion::traits.hears_asks) s.supply.asked();
    s.locking.drain(s);
    return {detail::return_idle(s)};
  }
}
/// Whether other pools may ask this one: it can be trimmed without waiting.
template <class State>
inline constexpr bool can_be_asked =
    State::traits::reclaims && State::traits::may_return_chunks && need_not_wait<State>;

/// Called before the pool's store is. From now on other pools may ask this one, if the exhaustion policy says so.
template <class State>
TARN_STEP void be_asked(State& s) noexcept {
  detail::be_registered(s);
  if constexpr (can_be_asked<State>) {
    static_cast<void>(&fork_handlers<State>), static_cast<void>(&reclaimable_at_load<State>);  // instantiates them
    const auto trim = [](void* its) noexcept { return detail::trim_if_idle(*static_cast<State*>(its)); };
    s.supply.asked_through().enter(detail::pointer_to(s), trim, State::is_confined);
  }
}
/// Called before the pool ends.
template <class State>
TARN_STEP void be_left_alone(State& s) noexcept {
  if constexpr (State::traits::is_listed) s.name.leave();
  if constexpr (State::traits::reclaims) s.supply.asked_through().leave();
}

/// While this lives, nobody asks the pool, not even the thread that looks through its blocks.
template <class State>
class unasked {
 public:
  explicit unasked(State& its) noexcept : s_(its) {
    if constexpr (State::traits::is_listed) s_.name.pause();
    if constexpr (can_be_asked<State>) s_.supply.asked_through().pause();
  }
  ~unasked() {
    if constexpr (can_be_asked<State>) s_.supply.asked_through().resume();
    if constexpr (State::traits::is_listed) s_.name.resume();
  }
  unasked(const unasked&) = delete;
  unasked& operator=(const unasked&) = delete;

 private:
  State& s_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_GIVING_BACK_H_

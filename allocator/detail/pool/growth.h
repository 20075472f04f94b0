// How a pool gets chunks.
//
//   grow      [core: how many blocks?] · region · record · top_up · [core: adopt]
//   top_up    what the chunk map and the locking policy need for themselves · store
//
// All of it with the growth guard held; a store is called with no other guard held.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_GROWTH_H_
#define TARN_ALLOCATOR_DETAIL_POOL_GROWTH_H_

#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/core/chunk_map.h"
#include "tarn/allocator/detail/core/free_blocks.h"
#include "tarn/allocator/detail/pool/events.h"
#include "tarn/allocator/detail/pool/guards.h"
#include "tarn/allocator/detail/pool/registration.h"
#include "tarn/allocator/detail/pool/upstream.h"
#include "tarn/allocator/detail/pool/waiting.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/reclaim.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/platform/pages.h"
#include "tarn/policies/platform/waiting.h"

// Chunks that a store gave and that aren't part of the pool yet: those of one growth, and the one that maintain() fills.

namespace tarn::detail {

/// Chunks that were fetched and aren't part of the pool yet, linked by `next`; if a checking policy looks, also in a tree.
template <class State>
class fresh_chunks {
  using chunk = typename State::chunk;
  using geometry = typename State::traits::geometry;
  static constexpr bool looks = State::traits::checking::traits.refuses && !State::traits::one_chunk;
  struct no_map {};

 public:
  chunk* first() const noexcept { return first_; }
  void push(chunk& c, [[maybe_unused]] const geometry& g) noexcept {
    c.next = first_;
    first_ = detail::pointer_to(c);
    if constexpr (looks) map_.insert(c, g);
  }
  bool overlap(memory region) const noexcept {
    if constexpr (looks) return detail::overlaps(map_, region);
    else return false;
  }

 private:
  chunk* first_ = nullptr;
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<looks, chunk_tree<chunk, geometry>, no_map> map_;
};

/// The chunk that maintain() got ahead and fills, a slice of its pages at a time. Changed under the growth guard; a slice is
/// filled with nothing held, so the chunk may meanwhile become the pool's, be used and be empty again. It must not go back to
/// the store before: wait_for_fillers().
template <class Traits>
class chunk_ahead {
  using chunk = typename Traits::chunk;

 public:
  static constexpr std::size_t slice_pages = 16;

  chunk* get() const noexcept { return chunk_; }
  std::size_t blocks() const noexcept { return chunk_ != nullptr ? chunk_->blocks : 0; }
  bool overlaps(memory region) const noexcept { return chunk_ != nullptr && detail::overlap(chunk_->region, region); }

  /// Precondition: there is none, and nobody fills.
  void begin(chunk& c) noexcept {
    chunk_ = detail::pointer_to(c);
    taken_ = 0;
    refused_.store(false, memory_order_relaxed);
  }
  /// It is the pool's, or goes back.
  chunk* end() noexcept { return detail::replace(chunk_, nullptr); }

  /// Pages that nobody has filled or fills; null: there are none. The caller fills them and calls filled().
  memory take_slice() noexcept {
    const std::size_t page = system_pages::page_bytes();
    auto* const start = static_cast<std::byte*>(chunk_->region.start);
    const std::size_t skew = address_of(start) % page;  // a heap's region starts in a page
    const std::size_t bytes = chunk_->region.bytes + skew;
    if (taken_ >= bytes) return {};
    const std::size_t at = replace(taken_, taken_ + slice_pages * page);
    fillers_.fetch_add(1, memory_order_relaxed);
    return {start - skew + at, smaller(slice_pages * page, bytes - at)};
  }
  void filled(bool well) noexcept {
    if (!well) refused_.store(true, memory_order_relaxed);
    if (fillers_.fetch_sub(1, memory_order_release) == (awaited | 1)) wake_all(fillers_.address());
  }
  bool is_being_filled() const noexcept { return fillers_.load(memory_order_acquire) != 0; }
  /// Somebody calls maintain(). The only change that needs no growth guard.
  void be_maintained() noexcept { maintained_.store(true, memory_order_relaxed); }
  bool is_maintained() const noexcept { return maintained_.load(memory_order_relaxed); }
  /// Whether the system refused memory for it.
  bool was_refused() const noexcept { return refused_.load(memory_order_relaxed); }

  /// Called under the growth guard, so that no slice begins. Waits for those that somebody fills: microseconds.
  void wait_for_fillers() noexcept {
    if (fillers_.load(memory_order_acquire) == 0) return;
    fillers_.fetch_or(awaited, memory_order_relaxed);
    for (unsigned seen = 0; (seen = fillers_.load(memory_order_acquire)) != awaited;) wait_while(fillers_.address(), seen);
    fillers_.store(0, memory_order_relaxed);
  }

 private:
  static constexpr unsigned awaited = 1u << 31;

  chunk* chunk_ = nullptr;
  std::size_t taken_ = 0;  // bytes, from the start of the chunk's first page on
  atomic_word<unsigned> fillers_ = 0;
  atomic_word<bool> refused_ = false;
  atomic_word<bool> maintained_ = false;
};

/// For a pool that doesn't grow ahead.
template <class Traits>
struct no_chunk_ahead {};
template <class Traits>
using chunk_ahead_of = std::conditional_t<Traits::grows_ahead, chunk_ahead<Traits>, no_chunk_ahead<Traits>>;

/// The blocks in it.
template <class State>
std::size_t blocks_ahead([[maybe_unused]] const State& s) noexcept {
  if constexpr (State::traits::grows_ahead) return s.ahead.blocks();
  else return 0;
}

// How chunks are given back.
//
//   return_chunks    (growth guard) [core: unlink] · store
//   return_pages     (growth guard) [core: take idle pages] · store · [core: those that it refused are as before]
//   come_back        (growth guard) [core: blocks whose pages have gone may be taken again]

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
    const bool some = s.list.recommit();
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

template <class State>
using attempt_at = typename supply<typename State::traits>::attempt;

template <class State>
std::size_t capacity_of(const State& s) noexcept {
  [[maybe_unused]] const auto guard = s.locking.core_guard();
  return s.chunks.capacity();
}

/// The capacity, including what a bounded store that is still untouched will give.
template <class State>
std::size_t most_capacity_of(const State& s) noexcept {
  if constexpr (State::traits::in_place) {
    return s.chunks.capacity();
  } else {
    [[maybe_unused]] const look_at_store growing(s);
    const auto& g = s.chunks.geometry();
    const std::size_t blocks = detail::capacity_of(s);
    return blocks != 0 ? blocks : State::traits::layout::blocks_in(s.supply.room(g), s.chunks.next(0, 0).at_most, g);
  }
}

/// Whether the pool has every block that it can have: then nobody need wait for the growth guard, whose holder may be at the
/// store. Always false where that waits for no thread.
template <class State>
bool is_at_cap([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::in_place || State::traits::may_grow_past_cap ||
                again_of<typename State::locking_state> == growth_again::nests) {
    return false;
  } else if constexpr (requires { s.locking.has_nothing_more(); }) {
    return s.locking.has_nothing_more();
  } else {
    [[maybe_unused]] const auto guard = s.locking.core_guard();
    return s.chunks.next(0, 0).wanted == 0;
  }
}

template <class State>
bool overlaps_ahead([[maybe_unused]] const State& s, [[maybe_unused]] memory region) noexcept {
  if constexpr (State::traits::grows_ahead) return s.ahead.overlaps(region);
  else return false;
}
/// Whether a region overlaps nothing of the pool, if a checking policy looks. One that does is left alone: it may belong to
/// another pool.
template <class State>
bool is_new([[maybe_unused]] State& s, [[maybe_unused]] memory region, [[maybe_unused]] std::size_t alignment,
            [[maybe_unused]] const fresh_chunks<State>& fresh) noexcept {
  if constexpr (State::traits::checking::traits.refuses) {
    [[maybe_unused]] const auto guard = s.locking.core_guard();
    if (s.chunks.overlaps(region) || fresh.overlap(region) || s.supply.own_overlaps(region) ||
        detail::overlaps_ahead(s, region)) {
      s.supply.note_broken(region, alignment);
      return false;
    }
  }
  return true;
}

/// Makes the record of a chunk in the region supplied, or returns null. The chunk isn't part of the pool yet.
template <class State>
typename State::chunk* make_chunk(State& s, supplied got, const fresh_chunks<State>& fresh) noexcept {
  const auto& g = s.chunks.geometry();
  if (!got || !detail::is_new(s, got.region, State::traits::chunk_alignment(g), fresh)) return nullptr;
  return s.chunks.make(got.region, got.blocks);
}

/// A fresh chunk of the second store; as fetch_chunk().
template <class State>
typename State::chunk* fetch_second_chunk(State& s, const fresh_chunks<State>& fresh) noexcept {
  auto* const c = detail::make_chunk(s, s.supply.fetch_second(s.chunks.geometry()), fresh);
  if (c == nullptr) return nullptr;
  c->from_second = true;
  s.supply.count_second(c->blocks);
  return c;
}
/// A fresh chunk that isn't part of the pool yet. Null: growth or the store refused, and nothing has changed. `last` and
/// `more`: blocks in the newest, and in all, of the chunks that were fetched before and not adopted.
template <class State>
typename State::chunk* fetch_chunk(State& s, std::size_t last, std::size_t more, attempt_at<State>& one,
                                   const fresh_chunks<State>& fresh) noexcept {
  const chunk_request request = [&] {
    [[maybe_unused]] const auto guard = s.locking.core_guard();
    return s.chunks.next(last, more + detail::blocks_ahead(s) - s.supply.blocks_of_second());
  }();
  if (auto* const c = detail::make_chunk(s, s.supply.fetch(request, s.chunks.geometry()), fresh)) return c;
  if constexpr (decltype(s.supply)::has_second) {
    return detail::fetch_second_chunk(s, fresh);
  } else {
    one.store_refused = request.wanted != 0;
    return nullptr;
  }
}

/// Gives the chunk map and the locking policy memory to adopt fresh chunks or, if there are none, to continue. The map does
/// without if the store refuses: then it finds chunks in its tree. Returns whether the locking policy has what it needs.
template <class State>
bool top_up(State& s, const fresh_chunks<State>& fresh = {}) noexcept {
  const auto lacking_in_map = [&] {
    [[maybe_unused]] const auto guard = s.locking.core_guard();
    return s.chunks.shortage(fresh.first());
  };
  const auto is_ours = [&](memory region) { return !detail::is_new(s, region, cache_line, fresh); };
  while (const std::size_t bytes = lacking_in_map()) {
    const memory got = s.supply.fetch_own(bytes, is_ours);
    if (!got) break;
    [[maybe_unused]] const auto guard = s.locking.core_guard();
    s.chunks.supply(got);
  }
  while (const std::size_t bytes = s.locking.shortage(s, fresh.first())) {
    const memory got = s.supply.fetch_own(bytes, is_ours);
    s.locking.supply(s, got);
    if (!got) return fresh.first() != nullptr && s.locking.shortage(s, fresh.first()) == 0;  // it can do without for now
  }
  return true;
}

/// Makes the fresh chunks part of the pool.
template <class State>
void adopt_all(State& s, const fresh_chunks<State>& fresh) noexcept {
  for (auto *c = fresh.first(), *next = c; c != nullptr; c = next) {
    next = c->next;
    [[maybe_unused]] served_of<State> served;
    [[maybe_unused]] const auto guard = s.locking.core_guard();
    if constexpr (requires { s.checking.lies_in(detail::pointer_to(s)); }) s.checking.lies_in(detail::pointer_to(s));
    s.locking.adopt(s, *c);
    detail::note_chunk(s, c->region.bytes);
    detail::tell_of_chunk(s, trace_kind::grow, c->region);
    detail::serve(s, served);
  }
}

/// The chunk that maintain() got ahead becomes the pool's, filled or not. Returns whether it does: there is one, and memory for
/// what must be known of it.
template <class State>
bool adopt_ahead([[maybe_unused]] State& s) noexcept {
  if constexpr (State::traits::grows_ahead) {
    if (s.ahead.get() == nullptr) return false;
    fresh_chunks<State> fresh;
    fresh.push(*s.ahead.get(), s.chunks.geometry());
    if (!detail::top_up(s, fresh)) return false;
    detail::adopt_all(s, fresh);
    return s.ahead.end() != nullptr;
  } else {
    return false;
  }
}

/// What came of asking for chunks: they are the pool's; one was refused; or what the locking policy needs to adopt them was.
enum class chunks_got { all, no_chunk, no_tables };

/// Gets chunks until `enough(more)`, with `more` blocks in them, or gets none.
/// \param second_only  the first store isn't asked
template <class State, class Enough>
chunks_got get_chunks(State& s, std::size_t& more, attempt_at<State>& one, Enough enough, bool second_only = false) noexcept {
  const auto before = s.supply.second();
  fresh_chunks<State> fresh;
  chunks_got got = chunks_got::all;
  more = 0;
  for (std::size_t last = 0; !enough(more);) {
    typename State::chunk* c = nullptr;
    if constexpr (decltype(s.supply)::has_second)
      if (second_only) c = detail::fetch_second_chunk(s, fresh);
    if (!second_only) c = detail::fetch_chunk(s, last, more, one, fresh);
    if (c == nullptr) {
      got = chunks_got::no_chunk;
      break;
    }
    last = c->blocks;
    more += c->blocks;
    fresh.push(*c, s.chunks.geometry());
  }
  if (fresh.first() == nullptr) return got;
  if (got == chunks_got::all && !detail::top_up(s, fresh)) {
    got = chunks_got::no_tables;
    one.store_refused = true;
  }
  if (got == chunks_got::all) {
    detail::adopt_all(s, fresh);
  } else {
    detail::give_back(s, fresh.first());
    s.supply.restore_second(before);
  }
  return got;
}
/// The same. If there are no tables for chunks of the first store, those of the second, which may need none, must do.
template <class State, class Enough>
bool get_chunks_of_either(State& s, std::size_t& more, attempt_at<State>& one, Enough enough) noexcept {
  const chunks_got got = detail::get_chunks(s, more, one, enough);
  if constexpr (decltype(s.supply)::has_second && State::traits::locking::traits.keeps_memory) {
    if (got == chunks_got::no_tables) return detail::get_chunks(s, more, one, enough, true) == chunks_got::all;
  }
  return got == chunks_got::all;
}

/// Gets a chunk, if there is none ahead.
template <class State>
bool grow(State& s, attempt_at<State>& one) noexcept {
  if (detail::adopt_ahead(s)) return true;
  std::size_t more = 0;
  return detail::get_chunks_of_either(s, more, one, [](std::size_t blocks) { return blocks != 0; });
}

/// Gets chunks until there are at least that many blocks, or gets none. Takes the growth guard.
template <class State>
bool grow_to(State& s, std::size_t blocks, attempt_at<State>& one) noexcept {
  if (detail::is_at_cap(s)) {
    if (detail::capacity_of(s) >= blocks) return true;
    if (detail::is_at_cap(s)) return false;  // else a chunk was given back meanwhile
  }
  const auto growing = detail::growth_guard(s);
  if (!detail::is_held(growing)) return one.is_hopeless = true, detail::capacity_of(s) >= blocks;
  std::size_t more = 0;
  const std::size_t ahead = detail::blocks_ahead(s);
  const auto enough = [&](std::size_t fresh) { return detail::capacity_of(s) + ahead + fresh >= blocks; };
  if (!detail::get_chunks_of_either(s, more, one, enough) || (detail::capacity_of(s) < blocks && !detail::adopt_ahead(s)))
    return false;
  if (more == 0) return true;
  s.locking.expect(more);
  detail::top_up(s);  // if this fails, the next operations top up themselves
  return true;
}

/// Tops up what the locking policy keeps for itself, with nothing held; never waits. Once somebody has called maintain(), which
/// does so, no allocation calls the store for it.
template <class State>
TARN_COLD void feed(State& s) noexcept {
  if constexpr (State::traits::keeps_memory && State::traits::locking::traits.can_try) {
    if constexpr (State::traits::grows_ahead)
      if (s.ahead.is_maintained()) return;
    if (detail::grows_here(s)) return;
    if (const auto growing = detail::try_growth_guard(s)) detail::top_up(s);
    s.supply.tell();
  }
}

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_GROWTH_H_

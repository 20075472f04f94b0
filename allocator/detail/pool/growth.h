// How a pool gets chunks.
//
//   grow      [core: how many blocks?] · region · record · top_up · [core: adopt]
//   top_up    what the chunk map and the locking policy need for themselves · store
//
// All of it with the growth guard held; a store is called with no other guard held.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_GROWTH_H_
#define TARN_ALLOCATOR_DETAIL_POOL_GROWTH_H_

#include <cstddef>

#include "tarn/allocator/detail/pool/fresh_chunks.h"
#include "tarn/allocator/detail/pool/giving_back.h"
#include "tarn/allocator/detail/pool/guards.h"
#include "tarn/allocator/detail/pool/supply.h"
#include "tarn/allocator/detail/pool/telling.h"
#include "tarn/allocator/detail/pool/waiting.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

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

// What concerns the free list and the chunks together: which chunks are empty, a list made anew, walks that want to know which
// blocks are free. All with the core guard held, over a pool's state, of which it uses `list` and `chunks`.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_FREE_BLOCKS_H_
#define TARN_ALLOCATOR_DETAIL_CORE_FREE_BLOCKS_H_

#include <cstddef>
#include <utility>

#include "tarn/allocator/detail/core/drained_blocks.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

/// Takes empty chunks out until `keep` are left. Returns them as a list linked by `next`. O(1) for a chunk that goes, and the
/// map's O(log chunks).
template <class State>
typename State::chunk* unlink_surplus(State& s, std::size_t keep) noexcept {
  typename State::chunk* leaving = nullptr;
  for (std::size_t n = s.list.empty_chunks(); n > keep; --n) {
    s.chunks.unlink(s.list.take_empty(), leaving);
    s.chunks.chunk_reused();
  }
  return leaving;
}

/// As unlink_empty(), where the list doesn't see empty chunks: the free blocks of every chunk are counted. Each is looked at
/// once, and linked to those of its chunk: a second walk through all of them would cost as many cache misses again. Those of
/// chunks that leave are forgotten. O(free blocks × log chunks).
template <class State>
typename State::chunk* unlink_counted(State& s) noexcept {
  using chunk = typename State::chunk;
  s.list.drain(s.chunks, block_counter<decltype(s.chunks)>{s.chunks});
  chunk* leaving = nullptr;
  for (chunk *c = s.chunks.take_all(), *next; c != nullptr; c = next) {
    next = c->next;
    free_link* const blocks = std::exchange(c->free, nullptr);
    if (std::exchange(c->idle, 0) == c->carved) {
      c->next = std::exchange(leaving, c);
    } else {
      s.chunks.insert(*c);
      s.list.adopted(*c);
      restore(s, blocks);
    }
  }
  return leaving;
}

/// Takes every wholly free chunk out, also those that were never used. Returns them as a list linked by `next`.
template <class State>
typename State::chunk* unlink_empty(State& s) noexcept {
  if constexpr (State::traits::reuse::traits.sees_empty_chunks) {
    s.list.settle(s.chunks);
    typename State::chunk* leaving = unlink_surplus(s, 0);
    s.chunks.unlink_untouched(leaving);
    return leaving;
  } else {
    return unlink_counted(s);
  }
}

/// Takes every chunk out, whatever became of its blocks, and forgets the chunk map's table.
template <class State>
typename State::chunk* unlink_all(State& s) noexcept {
  if constexpr (State::traits::reuse::traits.sees_empty_chunks)
    for (std::size_t n = s.list.empty_chunks(); n != 0; --n) s.chunks.chunk_reused();
  s.list.forget();
  typename State::chunk* const all = s.chunks.take_all();
  s.chunks.forget();
  return all;
}

/// Makes the list anew, of what the checking policy knows as free, where the list holds all of that. Else what it lost stays
/// lost.
template <class State>
void mend(State& s) noexcept {
  s.chunks.trust_again();
  if constexpr (State::traits::list_holds_all) {
    s.list.forget();
    s.chunks.each([&s](typename State::chunk& c) {
      s.list.adopted(c);
      for (std::size_t i = c.carved; i-- != 0;)
        if (!s.chunks.checking_column(c).in_use(i)) s.list.restore(s.chunks, s.chunks.block_at(c.first, i));
    });
  }
}

/// Calls visit(block) for every block in use, by ascending address. It may give that block back and take others, which are
/// visited or not; it may give no other block back, and no chunk. The free blocks lie aside meanwhile, sorted by address, so
/// that what is not among them is in use: O(free blocks × log free blocks + blocks), and no memory.
template <class State, class Visit>
void each_live(State& s, Visit visit) {
  const blocks_aside<State> free(s);
  const free_link* next_free = free.first();
  const auto visit_if_live = [&](void* block) {
    if (s.chunks.geometry().links(block) == next_free) next_free = next_free->next;
    else visit(block);
  };
  if constexpr (State::traits::in_place) {
    for (std::size_t i = 0, n = s.chunks.carved(); i != n; ++i) visit_if_live(s.chunks.block_at(i));
  } else {
    s.chunks.each([&](typename State::chunk& c) {
      std::byte* const first = c.first;
      for (std::size_t i = 0, n = c.idle; i != n; ++i) visit_if_live(s.chunks.block_at(first, i));  // carved before
    });
  }
}

/// Where the blocks are an array: makes the pool as new, if all of them are free. Returns the bytes of the array then, else 0.
template <class State>
std::size_t forget_if_idle(State& s) noexcept {
  free_link* links = nullptr;
  std::size_t idle = 0;
  s.list.drain(s.chunks, linked_counter<decltype(s.chunks)>{s.chunks, links, idle});
  if (idle == s.chunks.carved()) return s.chunks.forget();
  restore(s, links);
  return 0;
}

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_FREE_BLOCKS_H_

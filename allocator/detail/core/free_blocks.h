// What involves both the free list and the chunks: which chunks are empty, rebuilding the list, walks that must know which
// blocks are free. All functions run with the core guard held, on a pool's state, of which they use `list` and `chunks`.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_FREE_BLOCKS_H_
#define TARN_ALLOCATOR_DETAIL_CORE_FREE_BLOCKS_H_

#include <cstddef>
#include <new>

#include "tarn/allocator/detail/core/chunk_map.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

// Free blocks that were taken out of the list: linked into a list of their own, or counted per chunk.

// Visitors for the reuse policy's drain(). Not lambdas: g++ 12 warns if a parameter of a lambda has the name of something that
// the program declares later.

/// Links the blocks.
template <class Chunks>
struct block_linker {
  void operator()(void* block) const noexcept {
    void* const links = owner.geometry().links(block);
    memory_tools::unpoison(links, sizeof(free_link));
    first = ::new (links) free_link{first};
  }
  const Chunks& owner;
  free_link*& first;
};

/// Links and counts the blocks of each chunk, and links the chunks that have some, if all of their blocks were handed out: the
/// others are in the list of those to carve.
template <class Chunks>
struct block_counter {
  void operator()(void* block) noexcept {
    if (last == nullptr || !detail::lies_in(*last, block, owner.geometry().extent(last->blocks))) last = owner.find(block);
    if constexpr (Chunks::may_lose_chunks) {
      if (last == nullptr) [[unlikely]] return;
    }
    block_linker<Chunks>{owner, last->free}(block);
    if (last->idle++ == 0 && last->carved == last->blocks) last->next = detail::replace(with_blocks, last);
  }
  Chunks& owner;
  typename Chunks::chunk*& with_blocks;
  typename Chunks::chunk* last = nullptr;
};

/// Links and counts the blocks.
template <class Chunks>
struct linked_counter {
  void operator()(void* block) noexcept {
    block_linker<Chunks>{owner, first}(block);
    ++number;
  }
  const Chunks& owner;
  free_link*& first;
  std::size_t& number;
};

struct block_dropper {
  void operator()(void*) const noexcept {}
};

/// Puts a list of drained blocks back. Its first block is handed out last.
template <class State>
void restore(State& s, free_link* links) noexcept {
  while (links != nullptr) {
    free_link* const next = links->next;
    memory_tools::poison(links, sizeof(free_link));
    s.list.restore(s.chunks, s.chunks.geometry().block_with(links));
    links = next;
  }
}

/// Takes empty chunks out until `keep` are left. Returns them as a list linked by `next`. O(1) for each chunk that goes, plus
/// the map's O(log chunks).
template <class State>
typename State::chunk* unlink_surplus(State& s, std::size_t keep) noexcept {
  typename State::chunk* leaving = nullptr;
  for (std::size_t n = s.list.empty_chunks(); n > keep; --n) {
    s.chunks.unlink(s.list.take_empty(), leaving);
    s.chunks.chunk_reused();
  }
  return leaving;
}

/// Takes empty chunks out, at most `most` bytes and one more, as long as more is idle, or more chunks are empty, than the
/// retention policy keeps. The pages of a chunk may have gone before its last block was free.
template <class State>
typename State::chunk* unlink_idle(State& s, std::size_t most) noexcept {
  typename State::chunk* leaving = nullptr;
  std::size_t bytes = 0;
  while (bytes < most && s.list.empty_chunks() != 0 && (s.list.has_surplus_pages(s.chunks) || s.chunks.has_surplus())) {
    s.chunks.unlink(s.list.take_empty(), leaving);
    s.chunks.chunk_reused();
    bytes += leaving->region.bytes;
  }
  return leaving;
}

/// Tells a drained list which chunks stay, or if it wants to know only that: which leave.
template <class State>
void readopt(State& s, typename State::chunk* leaving) noexcept {
  if constexpr (requires { s.list.gone(*leaving); }) {
    bool lost = false;
    for (; leaving != nullptr; leaving = leaving->next) lost |= s.list.gone(*leaving);
    if (!lost) return;
  }
  if constexpr (State::traits::reuse::traits.needs_chunks)
    s.chunks.each([&s](typename State::chunk& its) { s.list.adopted(its); });
}

/// As unlink_empty(), if the list doesn't see empty chunks: the free blocks of every chunk are counted. Each block is visited
/// once, and linked to the others of its chunk: a second walk through all of them would cost as many cache misses again. The
/// blocks of chunks that leave are forgotten. O(free blocks × log chunks), whatever chunks are full; O(1) if no block was
/// allocated or freed since the last time, and the list can say so.
template <class State>
typename State::chunk* unlink_counted(State& s) noexcept {
  using chunk = typename State::chunk;
  if constexpr (requires { s.list.is_at_rest(); })
    if (s.list.is_at_rest() && !s.chunks.has_untouched()) return nullptr;
  chunk* with_blocks = nullptr;
  chunk* leaving = nullptr;
  chunk* staying = nullptr;
  s.list.drain(s.chunks, block_counter<decltype(s.chunks)>{s.chunks, with_blocks});
  const auto is_empty = [](const chunk& its) { return its.idle == its.carved; };
  for (chunk *c = with_blocks, *next; c != nullptr; c = next) {
    next = c->next;
    if (is_empty(*c)) s.chunks.unlink(*c, leaving);
    else c->next = detail::replace(staying, c);
  }
  s.chunks.each_begun([&](chunk& its) {
    if (is_empty(its)) s.chunks.unlink(its, leaving);
  });
  s.chunks.unlink_untouched(leaving);
  detail::readopt(s, leaving);
  const auto put_back = [&s](chunk& its) {
    its.idle = 0;
    detail::restore(s, detail::replace(its.free, nullptr));
  };
  for (; staying != nullptr; staying = staying->next) put_back(*staying);
  s.chunks.each_begun(put_back);
  if constexpr (requires { s.list.rest(s.chunks); }) s.list.rest(s.chunks);
  return leaving;
}

/// Takes every wholly free chunk out, including those that were never used. Returns them as a list linked by `next`.
template <class State>
typename State::chunk* unlink_empty(State& s) noexcept {
  if constexpr (State::traits::reuse::traits.sees_empty_chunks) {
    s.list.settle(s.chunks);
    typename State::chunk* leaving = detail::unlink_surplus(s, 0);
    s.chunks.unlink_untouched(leaving);
    return leaving;
  } else {
    return detail::unlink_counted(s);
  }
}

/// Takes every chunk out, whether or not its blocks are free, and forgets the chunk map's table.
template <class State>
typename State::chunk* unlink_all(State& s) noexcept {
  if constexpr (State::traits::reuse::traits.sees_empty_chunks)
    for (std::size_t n = s.list.empty_chunks(); n != 0; --n) s.chunks.chunk_reused();
  s.list.forget();
  typename State::chunk* const all = s.chunks.take_all();
  s.chunks.forget();
  return all;
}

/// Rebuilds the list from the blocks that the checking policy knows as free, if the list holds all of those. Otherwise, what it
/// lost stays lost.
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

/// Makes every block as new, as if none had ever been handed out; checking columns stay. Precondition: the list is as new.
template <class State>
void start_over(State& s) noexcept {
  if constexpr (State::traits::in_place) {
    s.chunks.forget();
  } else {
    for (typename State::chunk *c = s.chunks.take_all(), *next; c != nullptr; c = next) {
      next = c->next;
      c->carved = 0;
      memory_tools::poison(c->first, s.chunks.geometry().extent(c->blocks));
      s.chunks.insert(*c);
      s.list.adopted(*c);
    }
  }
}

/// Forgets which blocks are in use. O(chunks), and a bit for each block where a bitmap says which are free.
template <class State>
void forget_use(State& s) noexcept {
  s.locking.drain_all(s);
  if constexpr (State::traits::reuse::traits.sees_empty_chunks) s.list.drain(s.chunks, block_dropper());
  else s.list.forget();
  detail::start_over(s);
}

/// If the blocks are an array: makes the pool as new if all of them are free, and returns the bytes of the array; else 0.
template <class State>
std::size_t forget_if_idle(State& s) noexcept {
  free_link* links = nullptr;
  std::size_t idle = 0;
  s.list.drain(s.chunks, linked_counter<decltype(s.chunks)>{s.chunks, links, idle});
  if (idle == s.chunks.carved()) return s.chunks.forget();
  detail::restore(s, links);
  return 0;
}

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_FREE_BLOCKS_H_

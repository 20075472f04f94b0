// What involves both the free list and the chunks: which chunks are empty, rebuilding the list, walks that must know which
// blocks are free. All functions run with the core guard held. They use `list` and `chunks` of a pool's state.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_FREE_BLOCKS_H_
#define TARN_ALLOCATOR_DETAIL_CORE_FREE_BLOCKS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/core/chunk.h"
#include "tarn/allocator/detail/core/chunk_map.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/reuse/block_bitmap.h"

namespace tarn::detail {

// Free blocks that were taken out of the list: linked into a separate list, or counted per chunk.

// Visitors for the reuse policy's drain(). Not lambdas, because g++ 12 warns if a parameter of a lambda has the name of
// something that the program declares later.

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

/// Links and counts the blocks of each chunk. Also links the chunks that have some, if all of their blocks were carved; the
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

/// What add() of `to` does.
template <class To>
struct block_adder {
  void operator()(void* block) const noexcept { to.add(block); }
  To& to;
};

/// Puts a list of drained blocks back. Its first block is allocated last.
template <class State>
void restore(State& s, free_link* links) noexcept {
  while (links != nullptr) {
    free_link* const next = links->next;
    memory_tools::poison(links, sizeof(free_link));
    s.list.restore(s.chunks, s.chunks.geometry().block_with(links));
    links = next;
  }
}

/// Takes empty chunks out until `keep` are left. Returns them as a list linked by `next`. O(1) for each chunk that is taken
/// out, plus the map's O(log chunks).
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
/// retention policy keeps. The pages of a chunk may have been returned before its last block was free.
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

/// Notifies a drained list of the chunks that stay, or, if it needs only those, of the chunks that leave.
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

// ---- into the bits ---------------------------------------------------------------------------------------------------------

/// The chunks of a pool in an array, as long as they don't change, if there aren't too many.
template <class Chunks>
class chunk_array {
  using chunk = typename Chunks::chunk;

 public:
  void fill(Chunks& chunks) noexcept {
    std::size_t all = 0;
    chunks.each([&](chunk& c) {
      if (all < most) start_[all] = address_of(c.first), chunk_[all] = detail::pointer_to(c);
      ++all;
    });
    size_ = all <= most ? std::bit_ceil(all) : 0;
    for (; all < size_; ++all) start_[all] = size_max;
  }
  bool has_all() const noexcept { return size_ != 0; }
  /// The chunk of a block of the pool. Precondition: has_all(). No branch depends on the block, because nobody can foresee the
  /// way of a randomly freed one through the search.
  chunk& find(const void* block) const noexcept {
    std::size_t at = 0;
    for (std::size_t half = size_ / 2; half != 0; half /= 2)
      if (const std::size_t later = at + half; TARN_UNFORESEEN(start_[later] <= address_of(block))) at = later;
    return *chunk_[at];
  }

 private:
  static constexpr std::size_t most = 512;

  std::uintptr_t start_[most];
  chunk* chunk_[most];
  std::size_t size_ = 0;  // a power of two; behind the chunks are addresses that no block has. 0: they are too many
};
struct no_chunk_array {};

/// Sets the bits of blocks, several at a time: none is null.
template <class Chunks>
class bit_marker {
  using chunk = typename Chunks::chunk;

 public:
  explicit bit_marker(Chunks& chunks) noexcept : chunks_(chunks) {}
  ~bit_marker() { mark(); }
  bit_marker(const bit_marker&) = delete;
  bit_marker& operator=(const bit_marker&) = delete;

  void add(void* block) noexcept {
    if (number_ == group) {
      mark();
      if constexpr (has_array)
        if (!replace(is_long_, true)) array_.fill(chunks_);
    }
    some_[number_++] = block;
  }

 private:
  static constexpr std::size_t group = 32;  // half a batch: batch_reuse prefetches the next one in between
  static constexpr bool has_array = !Chunks::may_lose_chunks && !Chunks::traits::one_chunk && !Chunks::traits::has_chunk_table;

  void mark() noexcept {
    if constexpr (has_array)
      if (array_.has_all()) return mark_by_array();
    const auto each = [this](chunk& c, std::size_t w, std::uint64_t mask, std::size_t marked) {
      chunks_.mark_free(c, w, mask, marked);
    };
    detail::each_marked_word(chunks_, some_, replace(number_, 0), each);
  }
  /// All are looked up before the first is marked, so that the words of the bits arrive in between.
  void mark_by_array() noexcept {
    constexpr std::size_t bits = block_bitmap<>::word_blocks;
    const auto& geometry = chunks_.geometry();
    const exact_divisor strides(geometry.stride());
    chunk* of[group];
    std::size_t slot[group];
    for (std::size_t i = 0; i != number_; ++i) {
      of[i] = detail::pointer_to(array_.find(some_[i]));
      slot[i] = geometry.slot_at(address_of(some_[i]) - address_of(of[i]->first) - geometry.offset(), strides);
      of[i]->bitmap.prefetch(slot[i] / bits);
    }
    for (std::size_t i = 0; i != number_; ++i) chunks_.mark_free(*of[i], slot[i] / bits, std::uint64_t{1} << slot[i] % bits, 1);
    number_ = 0;
  }

  Chunks& chunks_;
  std::size_t number_ = 0;
  bool is_long_ = false;
  void* some_[group];
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<has_array, chunk_array<Chunks>, no_chunk_array> array_;  // 8 KiB of stack
};

/// Every free block of the list moves into the bits. The list is then as new.
template <class State>
TARN_NOINLINE void empty_list(State& s) noexcept {
  {
    bit_marker<decltype(s.chunks)> marker(s.chunks);
    s.list.drain(s.chunks, block_adder<decltype(marker)>{marker});
  }
  detail::readopt(s, nullptr);
}
/// For a pool whose objects can be walked: marks every free block of the list in the bits. O(1) if nothing became free since
/// the last time, and the list can detect that.
template <class State>
void settle_list(State& s) noexcept {
  if constexpr (requires { s.list.is_empty(); })
    if (s.list.is_empty()) return;
  if constexpr (State::traits::list_has_bits) s.list.settle(s.chunks);
  else detail::empty_list(s);
  s.chunks.settled();
}

/// As unlink_empty(), if bits show how many blocks of a chunk are free.
template <class State>
typename State::chunk* unlink_by_bits(State& s) noexcept {
  if constexpr (requires { s.list.is_empty(); })
    if (s.list.is_empty() && s.chunks.is_at_rest() && !s.chunks.has_untouched()) return nullptr;
  detail::empty_list(s);  // even without blocks: a chunk that leaves may have a part of it
  typename State::chunk* leaving = nullptr;
  s.chunks.each([&](typename State::chunk& c) {
    if (c.carved != 0 && c.bitmap.free_blocks() == c.carved) s.chunks.unlink(c, leaving);
  });
  s.chunks.unlink_untouched(leaving);
  detail::readopt(s, leaving);
  s.chunks.recount_bits();
  s.chunks.rest();
  return leaving;
}

/// As unlink_empty(), if the list doesn't see empty chunks: the free blocks of every chunk are counted. Each block is visited
/// once, and linked to the others of its chunk: a second walk through all of them would cost the same cache misses again. The
/// blocks of chunks that leave are dropped. O(free blocks × log chunks), however many chunks are full; O(1) if no block was
/// allocated or freed since the last time, and the list can detect that.
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

/// Takes every empty chunk out, including those that were never used. Returns them as a list linked by `next`.
template <class State>
typename State::chunk* unlink_empty(State& s) noexcept {
  if constexpr (State::traits::reuse::traits.sees_empty_chunks) {
    if constexpr (has_free_bits<typename State::traits>)  // it must see those that it would take out
      for (void* block = nullptr; s.chunks.take_from_bits(&block, 1) != 0;) s.list.restore(s.chunks, block);
    s.list.settle(s.chunks);
    typename State::chunk* leaving = detail::unlink_surplus(s, 0);
    s.chunks.unlink_untouched(leaving);
    return leaving;
  } else if constexpr (has_free_bits<typename State::traits>) {
    return detail::unlink_by_bits(s);
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

/// Rebuilds the list from the blocks that the checking policy knows as free, if the list holds all of those. Otherwise, blocks
/// that it lost stay lost.
template <class State>
void mend(State& s) noexcept {
  s.chunks.trust_again();
  if constexpr (State::traits::list_holds_all) {
    s.list.forget();
    s.chunks.each([&s](typename State::chunk& c) {
      if constexpr (has_free_bits<typename State::traits>) c.bitmap.forget();
      s.list.adopted(c);
      for (std::size_t i = c.carved; i-- != 0;)
        if (!s.chunks.checking_column(c).in_use(i)) s.list.restore(s.chunks, s.chunks.block_at(c.first, i));
    });
    if constexpr (has_free_bits<typename State::traits>) s.chunks.recount_bits();
  }
}

/// Resets every block, as if none had ever been allocated; checking columns stay. O(chunks).
template <class State>
void start_over(State& s) noexcept {
  s.list.forget();
  if constexpr (State::traits::in_place) {
    s.chunks.forget();
  } else {
    for (typename State::chunk *c = s.chunks.take_all(), *next; c != nullptr; c = next) {
      next = c->next;
      c->carved = 0;
      if constexpr (has_free_bits<typename State::traits>) c->bitmap.forget();
      memory_tools::poison(c->first, s.chunks.geometry().extent(c->blocks));
      s.chunks.insert(*c);
      s.list.adopted(*c);
    }
  }
}

/// If the blocks are an array: makes the pool as new if all of them are free, and returns the bytes of the array; otherwise 0.
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

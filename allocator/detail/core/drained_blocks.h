// Free blocks that were taken out of the list: linked into a list of their own, or counted per chunk.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_DRAINED_BLOCKS_H_
#define TARN_ALLOCATOR_DETAIL_CORE_DRAINED_BLOCKS_H_

#include <cstddef>
#include <new>

#include "tarn/allocator/detail/core/chunk_map.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/replace.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

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

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_DRAINED_BLOCKS_H_

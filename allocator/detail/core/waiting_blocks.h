// Free blocks by windows, pieces of the address space. They need no memory: for each window there is a place_tree, which
// lies in the blocks themselves.
//
//   entry 0 | 1 | 2 | ...  ->  the tree of one window, and a list of blocks of others
//
// Windows that are far apart may share an entry. The blocks of that which comes second, and those that have no room for a node
// of a tree, are linked through themselves.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_WAITING_BLOCKS_H_
#define TARN_ALLOCATOR_DETAIL_CORE_WAITING_BLOCKS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "tarn/allocator/detail/core/place_tree.h"
#include "tarn/allocator/detail/core/walked_window.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/replace.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

/// Writes a link into a block, and puts it in front of a list.
template <class Geometry>
void link_block(const Geometry& g, free_link*& list, void* block) noexcept {
  void* const links = g.links(block);
  memory_tools::unpoison(links, sizeof(free_link));
  list = ::new (links) free_link{list};
}

template <class Geometry>
class waiting_blocks {
  using tree = place_tree<Geometry>;
  static constexpr unsigned few = 9;  // a window has places for 2^9 blocks, or in a large pool for more
  static constexpr std::size_t windows = 256;

 public:
  /// \param blocks  of the pool
  waiting_blocks(const Geometry& g, std::size_t blocks) noexcept : g_(g), shift_(window_bits(g, blocks)), trees_(g, shift_) {}
  void forget() noexcept {
    for (entry& one : entries_) one = {};
  }
  /// Bytes of a window, as a power of two.
  unsigned shift() const noexcept { return shift_; }

  /// Adds a block to the tree of its window. Returns false if the entry has that of another window.
  bool add_to_tree(void* block) noexcept {
    const std::uintptr_t window = window_of(block);
    entry& its = entry_of(window);
    if ((its.root != nullptr && window_of(its.root) != window) || !trees_.fits()) return false;
    trees_.insert(its.root, window << shift_, block);
    return true;
  }
  void add(void* block) noexcept {
    if (!add_to_tree(block)) detail::link_block(g_, entry_of(window_of(block)).others, block);
  }
  /// Takes the blocks of the window out, and marks them.
  void take(std::uintptr_t window, walked_window<Geometry>& marks) noexcept {
    entry& its = entry_of(window);
    if (its.root != nullptr && window_of(its.root) == window) {
      const auto mark = [&marks](std::size_t first, std::uint32_t some) { marks.mark(first, some); };
      trees_.each(detail::replace(its.root, nullptr), window << shift_, mark);
    }
    for (free_link* all = detail::replace(its.others, nullptr); all != nullptr;) {
      free_link* const one = replace(all, all->next);
      memory_tools::poison(one, sizeof(free_link));
      void* const block = g_.block_with(one);
      if (window_of(block) == window) marks.mark(marks.place_of(block));
      else add(block);
    }
  }

 private:
  struct entry {
    void* root = nullptr;
    free_link* others = nullptr;
  };

  static unsigned window_bits(const Geometry& g, std::size_t blocks) noexcept {
    const auto stride_bits = static_cast<unsigned>(std::bit_width(g.stride())) - 1;
    const auto wanted = static_cast<unsigned>(std::bit_width(g.extent(blocks) / windows));
    return static_cast<unsigned>(
        smaller(clamped(wanted, stride_bits + few, stride_bits + walked_window<Geometry>::most_places), tree::most_bits));
  }
  std::uintptr_t window_of(const void* block) const noexcept { return address_of(block) >> shift_; }
  /// Different for neighbours; chunks may be any power of two apart.
  entry& entry_of(std::uintptr_t window) noexcept {
    return entries_[(window ^ window / windows ^ window / windows / windows) % windows];
  }

  TARN_NO_UNIQUE_ADDRESS Geometry g_;
  unsigned shift_;
  tree trees_;
  entry entries_[windows] = {};
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_WAITING_BLOCKS_H_

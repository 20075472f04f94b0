// A set of free blocks of a window, a piece of the address space, kept in a few of these blocks themselves.
//
//   root -> | a . b . | -> a: | . c . . | -> c: | 1 0 0 1 1 ... |
//
// A block's place is its distance from the window's start, in strides. Places are looked up like words in a dictionary, a few
// bits at each node; a node at the bottom has a bit for each of its places. Each node is one of the blocks of the set, one that
// is on the way to its own place: whoever finds a node missing becomes it. So the set needs no memory, most blocks aren't
// touched, and to read it means to read its nodes: of 300,000 blocks about 5,000.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_PLACE_TREE_H_
#define TARN_ALLOCATOR_DETAIL_CORE_PLACE_TREE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn::detail {

template <class Geometry>
class place_tree {
  using word = std::uint32_t;  // at the bottom 32 bits, else the distance of a node from the start in bytes, plus one
  static constexpr unsigned word_bits = 5;

 public:
  static constexpr unsigned most_bits = 31;  // bytes of a window, as a power of two

  /// \param window  bytes, as a power of two
  place_tree(const Geometry& g, unsigned window) noexcept : g_(g) {
    const std::size_t places = ((std::size_t{1} << window) - 1) / g.stride() + 1;
    const auto bits = static_cast<unsigned>(std::bit_width(places - 1));
    for (top_ = bottom_bits(); top_ < bits;) top_ += fan_bits();
  }
  /// Whether a block has room for a node.
  bool fits() const noexcept { return node_bytes() >= 2 * sizeof(word); }

  std::size_t place_of(std::uintptr_t start, const void* block) const noexcept {
    return static_cast<std::size_t>(address_of(block) - start) / g_.stride();
  }
  void insert(void*& root, std::uintptr_t start, void* block) const noexcept {
    if (root == nullptr) return become(root = block);
    const std::size_t place = place_of(start, block);
    word* node = words(root);
    for (unsigned shift = top_; shift != bottom_bits();) {
      shift -= fan_bits();
      word& next = node[place >> shift & ((std::size_t{1} << fan_bits()) - 1)];
      if (next == 0) {
        next = static_cast<word>(address_of(block) - start) + 1;
        return become(block);
      }
      node = words(block_at(start, next));
    }
    node[place >> word_bits & (node_bytes() / sizeof(word) - 1)] |= word{1} << place % 32;
  }
  /// Calls mark(place of the first, bits of 32 places) until all blocks have been named.
  template <class Mark>
  void each(void* root, std::uintptr_t start, Mark& mark) const noexcept {
    each(root, start, top_, mark);
  }

 private:
  template <class Mark>
  void each(void* block, std::uintptr_t start, unsigned shift, Mark& mark) const noexcept {
    const std::size_t place = place_of(start, block);
    mark(place / 32 * 32, word{1} << place % 32);
    const word* const node = words(block);
    const std::size_t n = node_bytes() / sizeof(word);
    const std::size_t first = place >> bottom_bits() << bottom_bits();
    for (std::size_t i = 0; i != n; ++i)
      if (node[i] == 0) continue;
      else if (shift == bottom_bits()) mark(first + i * 32, node[i]);
      else each(block_at(start, node[i]), start, shift - fan_bits(), mark);
    memory_tools::poison(g_.links(block), node_bytes());
  }
  void become(void* block) const noexcept {
    void* const node = g_.links(block);
    memory_tools::unpoison(node, node_bytes());
    std::memset(node, 0, node_bytes());
  }

  std::size_t node_bytes() const noexcept { return std::bit_floor(smaller(g_.words() * sizeof(void*), 64)); }
  unsigned fan_bits() const noexcept { return static_cast<unsigned>(std::countr_zero(node_bytes() / sizeof(word))); }
  unsigned bottom_bits() const noexcept { return fan_bits() + word_bits; }
  word* words(void* block) const noexcept { return static_cast<word*>(g_.links(block)); }
  static void* block_at(std::uintptr_t start, word distance) noexcept {
    return reinterpret_cast<void*>(start + distance - 1);
  }

  TARN_NO_UNIQUE_ADDRESS Geometry g_;
  unsigned top_;  // places of the root, as a power of two
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_PLACE_TREE_H_

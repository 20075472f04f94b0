// Chunks with free blocks, on shelves by how full they are: blocks are taken from the fullest, so that others can become empty.
#ifndef TARN_POLICIES_REUSE_DETAIL_FULLNESS_SHELVES_H_
#define TARN_POLICIES_REUSE_DETAIL_FULLNESS_SHELVES_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// What a chunk keeps for its shelf.
/// \tparam Set  which of several sets of shelves, if a chunk stands in more than one
template <class Node, int Set = 0>
struct shelved {
  static constexpr unsigned nowhere = static_cast<unsigned>(-1);

  Node* above = nullptr;
  Node* below = nullptr;
  unsigned shelf_and_one = 0;  // so that a new one is all zero
};

/// Shelf 0 has the wholly free chunks, shelves 1 to 16 the others by sixteenths. Every operation is O(1).
/// \tparam Node  derived from shelved<Node, Set>
template <class Node, int Set = 0>
class fullness_shelves {
  using place = shelved<Node, Set>;

 public:
  /// The shelf of a chunk of `blocks`, of which `used` aren't free.
  static constexpr unsigned shelf_for(std::size_t used, std::size_t blocks) noexcept {
    if (used == 0) return 0;
    const auto width = static_cast<unsigned>(std::bit_width(blocks));
    return 1 + static_cast<unsigned>(used >> (width > 4 ? width - 4 : 0));
  }

  /// The newest chunk on the fullest shelf, or null.
  Node* fullest() const noexcept { return filled_ == 0 ? nullptr : first_[static_cast<unsigned>(std::bit_width(filled_)) - 1]; }
  Node* empty() const noexcept { return first_[0]; }
  std::size_t empties() const noexcept { return empties_; }
  /// The newest chunk on the shelf of the fewest blocks in use, or null. Wholly free ones don't count.
  Node* emptiest_in_use() const noexcept {
    const std::uint32_t in_use = filled_ & ~std::uint32_t{1};
    return in_use == 0 ? nullptr : first_[static_cast<unsigned>(std::countr_zero(in_use))];
  }

  /// place::nowhere: on none.
  static unsigned shelf_of(const Node& node) noexcept { return static_cast<const place&>(node).shelf_and_one - 1; }
  /// Puts a chunk on a shelf, wherever it was before.
  void put(Node& node, unsigned shelf) noexcept {
    place& its = node;
    if (its.shelf_and_one == shelf + 1) return;
    remove(node);
    its.shelf_and_one = shelf + 1;
    its.above = nullptr;
    its.below = first_[shelf];
    if (its.below != nullptr) place_of(its.below).above = detail::pointer_to(node);
    first_[shelf] = detail::pointer_to(node);
    filled_ |= 1u << shelf;
    if (shelf == 0) ++empties_;
  }
  void remove(Node& node) noexcept {
    place& its = node;
    const unsigned shelf = shelf_of(node);
    if (shelf == place::nowhere) return;
    (its.above != nullptr ? place_of(its.above).below : first_[shelf]) = its.below;
    if (its.below != nullptr) place_of(its.below).above = its.above;
    if (first_[shelf] == nullptr) filled_ &= ~(1u << shelf);
    if (shelf == 0) --empties_;
    its.shelf_and_one = 0;
  }

 private:
  static place& place_of(Node* node) noexcept { return *node; }

  Node* first_[17] = {};
  std::uint32_t filled_ = 0;  // a bit for each shelf
  std::size_t empties_ = 0;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_REUSE_DETAIL_FULLNESS_SHELVES_H_

// Chunks with free blocks, on shelves by how full they are: blocks are taken from the fullest, so that others can become empty.
#ifndef TARN_POLICIES_REUSE_DETAIL_FULLNESS_SHELVES_H_
#define TARN_POLICIES_REUSE_DETAIL_FULLNESS_SHELVES_H_

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tarn::detail {

/// What a chunk keeps for its shelf.
template <class Node>
struct shelved {
  static constexpr unsigned nowhere = 255;

  Node* above = nullptr;
  Node* below = nullptr;
  unsigned shelf = nowhere;
};

/// Shelf 0 has the wholly free chunks, shelves 1 to 16 the others by sixteenths. Every operation is O(1).
/// \tparam Node  derived from shelved<Node>
template <class Node>
class fullness_shelves {
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

  /// Puts a chunk on a shelf, wherever it was before.
  void put(Node& node, unsigned shelf) noexcept {
    if (node.shelf == shelf) return;
    remove(node);
    node.shelf = shelf;
    node.above = nullptr;
    node.below = first_[shelf];
    if (node.below != nullptr) node.below->above = &node;
    first_[shelf] = &node;
    filled_ |= 1u << shelf;
    if (shelf == 0) ++empties_;
  }
  void remove(Node& node) noexcept {
    if (node.shelf == Node::nowhere) return;
    (node.above != nullptr ? node.above->below : first_[node.shelf]) = node.below;
    if (node.below != nullptr) node.below->above = node.above;
    if (first_[node.shelf] == nullptr) filled_ &= ~(1u << node.shelf);
    if (node.shelf == 0) --empties_;
    node.shelf = Node::nowhere;
  }

 private:
  Node* first_[17] = {};
  std::uint32_t filled_ = 0;  // a bit for each shelf
  std::size_t empties_ = 0;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_REUSE_DETAIL_FULLNESS_SHELVES_H_

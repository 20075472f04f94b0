// A list by ascending rank, and within a rank in the order in which its nodes came. To enter and to leave costs as much as
// there are different ranks, however many nodes there are: the last node of each rank is linked to that of the next one.
#ifndef TARN_POLICIES_DETAIL_RANKED_LIST_H_
#define TARN_POLICIES_DETAIL_RANKED_LIST_H_

#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// What a node of the list keeps for it.
template <class Node>
struct ranked {
  Node* before = nullptr;
  Node* after = nullptr;
  Node* next_last = nullptr;  // of the last node of a rank: the last of the next higher rank
};

/// \tparam Node  has rank(), which doesn't change while it is in the list, and links, a ranked<Node>
template <class Node>
class ranked_list {
 public:
  constexpr Node* first() const noexcept { return first_; }

  void enter(Node& node) noexcept {
    Node* before = nullptr;  // the last of a lower rank, or of its own
    Node** last = &lasts_;
    while (*last != nullptr && (*last)->rank() < node.rank()) {
      before = *last;
      last = &before->links.next_last;
    }
    if (*last != nullptr && (*last)->rank() == node.rank()) {
      before = *last;
      node.links.next_last = before->links.next_last;
    } else {
      node.links.next_last = *last;
    }
    *last = detail::pointer_to(node);
    Node*& here = before != nullptr ? before->links.after : first_;
    node.links.before = before;
    node.links.after = here;
    if (here != nullptr) here->links.before = detail::pointer_to(node);
    here = detail::pointer_to(node);
  }

  /// Precondition: the node is in the list.
  void leave(Node& node) noexcept {
    Node* const before = node.links.before;
    Node* const after = node.links.after;
    if (after == nullptr || after->rank() != node.rank()) {
      Node** last = &lasts_;
      while (*last != detail::pointer_to(node)) last = &(*last)->links.next_last;
      *last = node.links.next_last;
      if (before != nullptr && before->rank() == node.rank()) {
        before->links.next_last = *last;
        *last = before;
      }
    }
    (before != nullptr ? before->links.after : first_) = after;
    if (after != nullptr) after->links.before = before;
    node.links = {};
  }

 private:
  Node* first_ = nullptr;
  Node* lasts_ = nullptr;  // the last node of the lowest rank
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_RANKED_LIST_H_

// The chunks with blocks that were never handed out; blocks are carved from the first, until it has none. One that was never
// used comes behind one that was: so only the first may have been used. Every operation that changes it is O(1).
#ifndef TARN_ALLOCATOR_DETAIL_CORE_CARVING_LIST_H_
#define TARN_ALLOCATOR_DETAIL_CORE_CARVING_LIST_H_

#include <cstddef>

#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// \tparam Chunk  has `next`, `blocks` and `carved`, and `link_to_it`: the link of the list that points to it
/// \tparam Link   the type of `next`
template <class Chunk, class Link = Chunk*>
class carving_list {
 public:
  Chunk* first() const noexcept { return first_; }
  void push(Chunk& c) noexcept {
    Link& before = first_ != nullptr && first_->carved != 0 && c.carved == 0 ? first_->next : first_;
    Chunk* const after = before;
    c.next = after;
    if (after != nullptr) after->link_to_it = &c.next;
    before = detail::pointer_to(c);
    c.link_to_it = &before;
  }
  bool has_untouched() const noexcept {
    return first_ != nullptr && (first_->carved == 0 || first_->next != nullptr);
  }
  /// Precondition: the chunk is in the list.
  void remove(Chunk& c) noexcept {
    Chunk* const after = c.next;
    *c.link_to_it = after;
    if (after != nullptr) after->link_to_it = c.link_to_it;
  }
  void forget() noexcept { first_ = nullptr; }
  /// Whether there are fewer blocks to carve than `blocks`. Looks no further than needed, or than a record can be believed.
  template <class Believes>
  bool has_fewer_than(std::size_t blocks, Believes believes) const noexcept {
    for (const Chunk* c = first_; c != nullptr && believes(*c); c = c->next) {
      if (c->blocks - c->carved >= blocks) return false;
      blocks -= c->blocks - c->carved;
    }
    return blocks != 0;
  }

 private:
  Link first_{};
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_CARVING_LIST_H_

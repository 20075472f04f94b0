// Where the pools of the classes lie: in the store's memory, so that the owner stays small, or in the owner, if the store's
// memory comes in granules.
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_PLACES_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_PLACES_H_

#include <cstddef>

#include "tarn/allocator/detail/classes/owner_stores.h"

namespace tarn::detail {

/// The pool of a class, and the memory in which it lies.
template <class Pool>
struct class_member {
  template <class... Given>
  explicit class_member(owned where, const Given&... given) noexcept : pool(given...), place(where) {}
  Pool pool;  // first: the hot path reaches it at offset 0
  owned place;
};

/// \tparam Inside  whether they lie in the owner
template <class Member, std::size_t Count, bool Inside>
struct class_places {
  template <class Stores>
  owned take(Stores& stores, std::size_t) noexcept {
    return stores.acquire_any(sizeof(Member), alignof(Member));
  }
  template <class Stores>
  void give(Stores& stores, owned place) noexcept {
    stores.release(place, alignof(Member));
  }
};
template <class Member, std::size_t Count>
struct class_places<Member, Count, true> {
  template <class Stores>
  owned take(Stores&, std::size_t i) noexcept {
    return {{room.members + i * sizeof(Member), sizeof(Member)}};
  }
  template <class Stores>
  void give(Stores&, owned) noexcept {}

  union {
    std::byte none = {};  // the initial member: a constant that takes no space in the executable
    alignas(Member) std::byte members[Count * sizeof(Member)];
  } room;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_PLACES_H_

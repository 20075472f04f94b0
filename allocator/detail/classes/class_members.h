// The pools of the classes, each made when it is first needed.
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_MEMBERS_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_MEMBERS_H_

#include <cstddef>
#include <new>

#include "tarn/allocator/detail/classes/class_exhaustion.h"
#include "tarn/allocator/detail/classes/class_lookup.h"
#include "tarn/allocator/detail/classes/class_places.h"
#include "tarn/allocator/detail/classes/owner_policies.h"
#include "tarn/allocator/detail/classes/owner_stores.h"
#include "tarn/policies/growth/maintained.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/held.h"
#include "tarn/policies/size/dynamic_size.h"

namespace tarn::detail {

/// \tparam Kept  the policies of the classes' pools that are made from values: kept_policies
template <class Classes, class Pool, class Chunks, class Locking, class Kept>
class class_members {
  using member = class_member<Pool>;

 public:
  /// The member of a class, or null.
  TARN_STEP member* find(std::size_t i) const noexcept { return members_[i].load(memory_order_acquire); }

  /// The same, but makes it; null if there is no memory. Calls the store before it locks anything: if another thread was
  /// faster, returns that thread's.
  member* make(std::size_t i, Chunks& chunks, const Kept& kept, class_pools all) noexcept {
    const owned place = places_.take(chunks, i);
    if (!place) return nullptr;
    member *made = nullptr, *found;
    {
      const held lock(making_);
      found = members_[i].load(memory_order_relaxed);
      if (found == nullptr) {
        void* const where = place.region.start;
        chunks.belong_to(all);
        made = kept.give_to(chunks, all, [&](const auto&... policies) {
          const dynamic_size size{Classes::size(i), class_lookup<Classes>::alignment(i)};
          return ::new (where) member(place, size, store_of_owner<Chunks>(detail::pointer_to(chunks), where), policies...);
        });
        members_[i].store(made, memory_order_release);
      }
    }
    if (made == nullptr) places_.give(chunks, place);
    return made != nullptr ? made : found;
  }

  /// Calls visit(class, pool) for each that there is.
  template <class Visit>
  void each(Visit visit) {
    for (std::size_t i = 0; i != Classes::count; ++i)
      if (member* const m = find(i)) visit(i, m->pool);
  }

  /// Maintains each that has chunks, until one is left unfinished; then the granules, if nothing is. Returns the last answer
  /// but `done`.
  template <class... Until>
  maintained maintain(Chunks& chunks, const Until&... until) noexcept {
    maintained answer = maintained::done;
    const auto add = [&answer](maintained its) { answer = its == maintained::done ? answer : its; };
    bool is_used = false;
    each([&](std::size_t, Pool& p) {
      is_used = is_used || p.capacity() != 0;  // before the first, the granules don't know whose they are
      if constexpr (requires { p.maintain(until...); })
        if (answer != maintained::unfinished && p.capacity() != 0) add(p.maintain(until...));
    });
    if constexpr (requires { chunks.maintain(until...); })
      if (is_used && answer != maintained::unfinished) add(chunks.maintain(until...));
    return answer;
  }

  /// All end, and so does the owner.
  void end(Chunks& chunks) noexcept {
    for (auto& one : members_) {
      member* const m = one.exchange(nullptr, memory_order_relaxed);
      if (m == nullptr) continue;
      const owned place = m->place;
      m->~member();
      places_.give(chunks, place);
    }
    making_.leave();
  }

 private:
  atomic_word<member*> members_[Classes::count]{};  // first: the hot path finds them at offset 0
  TARN_NO_UNIQUE_ADDRESS owner_mutex<Locking> making_;
  TARN_NO_UNIQUE_ADDRESS class_places<member, Classes::count, Chunks::tagged> places_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_MEMBERS_H_

// The policies of a pool whose stores are its owner's.
//
//   store_of_owner   the store policy: chunks come from the owner
//   second_of_owner  the exhaustion policy, where the owner has a second store
//
// A pool that lies in its owner is told later whom it belongs to, with belong_to().
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_OWNER_POLICIES_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_OWNER_POLICIES_H_

#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/classes/owner_stores.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/exhaustion.h"
#include "tarn/policies/store.h"

namespace tarn::detail {

/// The machinery of store_of_owner.
template <class Owner>
class source_of_owner {
 public:
  constexpr source_of_owner(Owner* owner, void* whose) noexcept : owner_(owner), whose_(whose) {}
  void belong_to(Owner* owner) noexcept { owner_ = owner; }
  memory acquire(std::size_t bytes, std::size_t alignment) noexcept { return owner_->acquire(bytes, alignment, whose_); }
  void release(memory region, std::size_t alignment) noexcept { owner_->release(region, alignment); }
  memory acquire_own(std::size_t bytes, std::size_t alignment) noexcept { return owner_->acquire_own(bytes, alignment); }
  void release_own(memory region, std::size_t alignment) noexcept { owner_->release_own(region, alignment); }
  bool owner_is_at_store() const noexcept { return owner_ != nullptr && owner_->is_at_store(); }

 protected:
  Owner* owner_;
  void* whose_;
};
/// The same where the owner's stores tell. Not a requirement of tell(): after another error, g++ 12 takes that for met.
template <class Owner>
struct telling_source_of_owner : source_of_owner<Owner> {
  using source_of_owner<Owner>::source_of_owner;
  void tell() noexcept { this->owner_->tell(); }
};

/// With each request it says whose it is, for an owner that writes that into the memory.
template <class Owner>
class store_of_owner {
 public:
  using axis = tarn::axis::store;
  static constexpr store_traits traits{
      .own_apart = true, .has_best_size = Owner::has_best_size, .tells_later = Owner::tells_later};

  static constexpr std::size_t best_size(std::size_t bytes, std::size_t alignment) noexcept {
    return Owner::best_size(bytes, alignment);
  }

  constexpr store_of_owner() noexcept : owner_(nullptr), whose_(nullptr) {}
  constexpr store_of_owner(Owner* owner, void* whose) noexcept : owner_(owner), whose_(whose) {}

  template <class Traits>
  struct source : std::conditional_t<Owner::tells_later, telling_source_of_owner<Owner>, source_of_owner<Owner>> {
    using base = std::conditional_t<Owner::tells_later, telling_source_of_owner<Owner>, source_of_owner<Owner>>;
    constexpr explicit source(const store_of_owner& store) noexcept : base(store.owner_, store.whose_) {}
  };

 private:
  Owner* owner_;
  void* whose_;
};

/// It asks nobody again: a policy with a second store has no more to say.
template <class Owner, class Exhaustion>
class second_of_owner {
 public:
  using axis = tarn::axis::exhaustion;
  static constexpr exhaustion_traits traits{.extra_chunks = Exhaustion::traits.extra_chunks};

  constexpr explicit second_of_owner(Owner* owner = nullptr) noexcept : owner_(owner) {}

  template <class Traits>
  class state {
   public:
    constexpr explicit state(const second_of_owner& policy) noexcept : owner_(policy.owner_) {}
    void belong_to(Owner* owner) noexcept { owner_ = owner; }
    constexpr bool retry(std::size_t) noexcept { return false; }
    chunk_request next_chunk(std::size_t last, std::size_t total, std::size_t stride) noexcept {
      return owner_->next_chunk(last, total, stride);
    }
    memory acquire(std::size_t bytes, std::size_t alignment) noexcept { return owner_->acquire_second(bytes, alignment); }
    void release(memory region, std::size_t alignment) noexcept { owner_->release(owned{region, true}, alignment); }

   private:
    Owner* owner_;
  };

 private:
  Owner* owner_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_OWNER_POLICIES_H_

// A store whose regions are all zero, over any other; and an exhaustion policy whose second store gives such regions.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_ZEROED_STORE_H_
#define TARN_ALLOCATOR_DETAIL_POOL_ZEROED_STORE_H_

#include <concepts>
#include <cstddef>
#include <cstring>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"

namespace tarn::detail {

template <class Store>
struct zeroed_store : Store {
  static constexpr auto traits = Store::traits.wrapped();  // nothing would zero an array in the pool

  constexpr zeroed_store()
    requires std::default_initializable<Store>
  = default;
  constexpr explicit zeroed_store(const Store& store) noexcept : Store(store) {}

  template <class Traits>
  class source : public Store::template source<Traits> {
    using base = typename Store::template source<Traits>;

   public:
    constexpr explicit source(const zeroed_store& store) noexcept : base(store) {}
    memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      const memory region = base::acquire(bytes, alignment);
      if constexpr (!Store::traits.zeroed)
        if (region) std::memset(region.start, 0, region.bytes);
      return region;
    }
  };
};

template <class P>
concept has_second_store = policy_on<P, axis::exhaustion> && P::traits.extra_chunks != 0;

template <class Exhaustion>
struct zeroed_second_store : Exhaustion {
  constexpr zeroed_second_store()
    requires std::default_initializable<Exhaustion>
  = default;
  constexpr explicit zeroed_second_store(const Exhaustion& policy) noexcept : Exhaustion(policy) {}

  template <class Traits>
  class state : public Exhaustion::template state<Traits> {
    using base = typename Exhaustion::template state<Traits>;

   public:
    constexpr explicit state(const zeroed_second_store& policy) noexcept : base(policy) {}
    memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      const memory region = base::acquire(bytes, alignment);
      if (region) std::memset(region.start, 0, region.bytes);
      return region;
    }
  };
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_ZEROED_STORE_H_

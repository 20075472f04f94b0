// A store whose regions are all zero, over any other; and an exhaustion policy whose second store gives such regions.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_ZEROED_STORE_H_
#define TARN_ALLOCATOR_DETAIL_POOL_ZEROED_STORE_H_

#include <concepts>
#include <cstddef>
#include <cstring>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"

namespace tarn::detail {

/// \tparam Base    what gives regions: the source of a store, or the state of an exhaustion policy
/// \tparam Zeroed  they are zero already
template <class Base, bool Zeroed = false>
struct zeroing : Base {
  using Base::Base;
  memory acquire(std::size_t bytes, std::size_t boundary) noexcept {
    const memory region = Base::acquire(bytes, boundary);
    if (!Zeroed && region) std::memset(region.start, 0, region.bytes);
    return region;
  }
};

template <class Store>
struct zeroed_store : Store {
  static constexpr auto traits = Store::traits.wrapped();  // nothing would zero an array in the pool

  constexpr zeroed_store()
    requires std::default_initializable<Store>
  = default;
  constexpr explicit zeroed_store(const Store& store) noexcept : Store(store) {}

  template <class Traits>
  using source = zeroing<typename Store::template source<Traits>, Store::traits.zeroed>;
};

template <class P>
concept has_second_store = policy_on<P, axis::exhaustion> && P::traits.has_second();

template <class Exhaustion>
struct zeroed_second_store : Exhaustion {
  constexpr zeroed_second_store()
    requires std::default_initializable<Exhaustion>
  = default;
  constexpr explicit zeroed_second_store(const Exhaustion& policy) noexcept : Exhaustion(policy) {}

  template <class Traits>
  using state = zeroing<typename Exhaustion::template state<Traits>>;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_POOL_ZEROED_STORE_H_

// decides    a pool whose store gives no further chunk, or whose growth policy wants none, continues with chunks from another
//            store
// costs      nothing until then; a chunk's record says where it goes back to
// conflicts  none
// use when   the preferred memory is small (an array inside the pool, huge pages, fast memory), and nothing may fail
#ifndef TARN_POLICIES_EXHAUSTION_FALL_BACK_TO_H_
#define TARN_POLICIES_EXHAUSTION_FALL_BACK_TO_H_

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/exhaustion.h"
#include "tarn/policies/growth.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/store.h"

namespace tarn {

namespace detail {
template <class Store>
concept has_one_chunk = policy_on<Store, axis::store> && Store::traits.bounded;
template <class Store>
using growth_for = std::conditional_t<has_one_chunk<Store>, no_growth<>, geometric_growth<>>;

/// A second store, and its tell() if it has one. Not a requirement of tell(): after another error, g++ 12 takes that for met.
template <class Source, bool Tells>
class told_source {
 protected:
  template <class Store>
  constexpr explicit told_source(const Store& store) noexcept : source_(store) {}
  TARN_NO_UNIQUE_ADDRESS Source source_;
};
template <class Source>
class told_source<Source, true> {
 public:
  void tell() noexcept { source_.tell(); }

 protected:
  template <class Store>
  constexpr explicit told_source(const Store& store) noexcept : source_(store) {}
  Source source_;
};
}  // namespace detail

/// \tparam Store   where further chunks come from and go back to
/// \tparam Growth  how large they are, and how many blocks they may hold; the pool's own growth policy doesn't apply to them
template <class Store, class Growth = detail::growth_for<Store>>
class fall_back_to {
  struct unknown_store {};
  using known_store = std::conditional_t<detail::defined<Store>, Store, unknown_store>;

 public:
  using axis = tarn::axis::exhaustion;
  using second_store = known_store;
  using second_growth = Growth;
  static constexpr bool arguments_hold =
      detail::defined<Store> && policy_on<Store, tarn::axis::store> && policy_on<Growth, tarn::axis::growth>;
  struct complaint : detail::home<Store> {
    static_assert(
        arguments_hold || !detail::defined<Store>,
        "tarn: [X3] fall_back_to was given something that is no store, or no growth policy; write fall_back_to<heap_store> "
        "or fall_back_to<heap_store, fixed_growth<Blocks>>");
  };
  static constexpr exhaustion_traits traits = [] {
    exhaustion_traits t{.extra_chunks = 1, .has_end = true};
    if constexpr (arguments_hold && detail::says<Store, store_traits>) {
      t.store_is_bounded = Store::traits.bounded;
      t.store_is_sized_by_geometry = Store::traits.sized_by_geometry;
      t.extra_chunks = Growth::traits.max_chunks;
      t.tells_later = Store::traits.tells_later;
    }
    return t;
  }();

  constexpr fall_back_to() noexcept
    requires std::default_initializable<known_store>
  = default;
  constexpr explicit fall_back_to(const Store& store, const Growth& growth = {}) noexcept : store_(store), growth_(growth) {}

  template <class Traits>
  class state : public detail::told_source<typename Store::template source<Traits>, traits.tells_later> {
    using told = detail::told_source<typename Store::template source<Traits>, traits.tells_later>;
    using told::source_;

   public:
    constexpr explicit state(const fall_back_to& policy) noexcept : told(policy.store_), growth_(policy.growth_) {}
    constexpr bool retry(std::size_t) noexcept { return false; }
    constexpr detail::chunk_request next_chunk(std::size_t last, std::size_t total, std::size_t stride) const noexcept {
      return growth_.next_chunk(last, total, stride);
    }
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept { return source_.acquire(bytes, alignment); }
    void release(detail::memory region, std::size_t alignment) noexcept { source_.release(region, alignment); }
    /// See static_array_store.
    template <class Values>
    constexpr void lie_beside(const Values& values) noexcept {
      if constexpr (requires { source_.template lie_beside<2>(values); }) source_.template lie_beside<2>(values);
    }
    void end() noexcept {
      if constexpr (Store::traits.has_end) source_.end();
    }

   private:
    TARN_NO_UNIQUE_ADDRESS Growth growth_;
  };

 private:
  TARN_NO_UNIQUE_ADDRESS known_store store_{};
  TARN_NO_UNIQUE_ADDRESS Growth growth_{};
};

}  // namespace tarn

#endif  // TARN_POLICIES_EXHAUSTION_FALL_BACK_TO_H_

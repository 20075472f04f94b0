// Axis name: what the pool is called, and whether it is in the registry.
#ifndef TARN_POLICIES_NAME_H_
#define TARN_POLICIES_NAME_H_

#include <concepts>

#include "tarn/policies/axis.h"
#include "tarn/policies/checking/misuse.h"

namespace tarn {

/// What a name policy declares about itself.
struct name_traits {
  bool is_listed = false;  // listing(): the pool's entry in the registry
};

/// A pool's entry in the registry.
struct pool_listing {
  const char* name = "";  // ends with a null; lives as long as the pool
  call_site where;        // the pool's declaration, if that is known
  bool has_size = false;  // the registry adds the block size, as in "orders/64": the pool is one of several of this name
};

// decides    the pool has no name, and isn't in the registry
// costs      nothing
// conflicts  none
// use when   nobody looks at the pool from outside (the default)
struct unnamed {
  using axis = tarn::axis::name;
  static constexpr name_traits traits{};

  struct state {
    constexpr explicit state(const unnamed&) noexcept {}
  };
};

/// Everything that the pool uses of a name policy besides its traits. It has no machinery of its own: listed pools that differ
/// in nothing but the name share their code.
///   listing()    if the pool is in the registry: its pool_listing. Asked when the pool is made
template <class P>
concept name_policy = policy_on<P, axis::name> && detail::says<P, name_traits> &&
                      detail::as_promised<P::traits.is_listed, requires(const P& policy) {
                        { policy.listing() } noexcept -> std::same_as<pool_listing>;
                      }>;

}  // namespace tarn

#endif  // TARN_POLICIES_NAME_H_

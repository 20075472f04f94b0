// Axis name: what the pool is called, and whether it is in the registry.
#ifndef TARN_POLICIES_NAME_H_
#define TARN_POLICIES_NAME_H_

#include <concepts>

#include "tarn/policies/axis.h"
#include "tarn/policies/name/named.h"
#include "tarn/policies/name/run_time_name.h"
#include "tarn/policies/name/traits.h"
#include "tarn/policies/name/unnamed.h"

namespace tarn {

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

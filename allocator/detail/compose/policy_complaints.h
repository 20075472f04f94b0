// One policy by itself: are its arguments valid, and does it have what the pool uses of its axis? The sentences where not.
#ifndef TARN_ALLOCATOR_DETAIL_COMPOSE_POLICY_COMPLAINTS_H_
#define TARN_ALLOCATOR_DETAIL_COMPOSE_POLICY_COMPLAINTS_H_

#include <type_traits>

#include "tarn/allocator/detail/compose/select.h"

namespace tarn::detail {

template <class P>
struct argument_complaint {};
template <class P>
  requires(!arguments_hold<P>)
struct argument_complaint<P> : P::complaint {};

template <class... Ps>
struct arguments_complaint : argument_complaint<Ps>... {};

template <class Size, class Locking, class Growth, class Store, class Reuse, class Retention, class Exhaustion, class Checking,
          class Statistics, class Name>
concept shapes_hold =
    arguments_hold<Size> && arguments_hold<Locking> && arguments_hold<Growth> && arguments_hold<Store> &&
    arguments_hold<Reuse> && arguments_hold<Retention> && arguments_hold<Exhaustion> && arguments_hold<Checking> &&
    arguments_hold<Statistics> && arguments_hold<Name> && size_policy<Size> && locking_policy<Locking> &&
    growth_policy<Growth> && store_policy<Store> && reuse_policy<Reuse> && retention_policy<Retention> &&
    exhaustion_policy<Exhaustion> && checking_policy<Checking> && statistics_policy<Statistics> && name_policy<Name>;

/// What this pool keeps for each chunk; and whether each policy has what this pool uses. Asked only if no rule refused, one
/// after the other. Not concepts: g++ 12 crashes on them.
template <class Traits>
inline constexpr bool columns_hold = column<typename Traits::locking::template per_chunk<Traits>, typename Traits::geometry> &&
                                     column<typename Traits::reuse::template per_chunk<Traits>, typename Traits::geometry> &&
                                     column<typename Traits::checking::template per_chunk<Traits>, typename Traits::geometry>;
template <class Traits>
inline constexpr bool members_hold =
    locking_members<typename Traits::locking, Traits> && store_members<typename Traits::store, Traits> &&
    reuse_members<typename Traits::reuse, Traits> && second_store_holds<typename Traits::exhaustion, Traits> &&
    exhaustion_members<typename Traits::exhaustion, Traits> && checking_members<typename Traits::checking, Traits> &&
    statistics_members<typename Traits::statistics, Traits>;

#define TARN_P1 \
  "tarn: [P1] this size policy lacks something that the pool uses; the notes name it, policies/size.h lists all"
#define TARN_P2 \
  "tarn: [P2] this locking policy lacks something that the pool uses; the notes name it, policies/locking.h lists all"
#define TARN_P3 \
  "tarn: [P3] this growth policy lacks something that the pool uses; the notes name it, policies/growth.h lists all"
#define TARN_P4 \
  "tarn: [P4] this store policy lacks something that the pool uses; the notes name it, policies/store.h lists all"
#define TARN_P5 \
  "tarn: [P5] this reuse policy lacks something that the pool uses; the notes name it, policies/reuse.h lists all"
#define TARN_P6 \
  "tarn: [P6] this retention policy lacks something that the pool uses; the notes name it, policies/retention.h lists all"
#define TARN_P7 \
  "tarn: [P7] this exhaustion policy lacks something that the pool uses; the notes name it, policies/exhaustion.h lists all"
#define TARN_P8 \
  "tarn: [P8] this checking policy lacks something that the pool uses; the notes name it, policies/checking.h lists all"
#define TARN_P9 \
  "tarn: [P9] this statistics policy lacks something that the pool uses; the notes name it, policies/statistics.h lists all"
#define TARN_P10 \
  "tarn: [P10] this name policy lacks something that the pool uses; the notes name it, policies/name.h lists all"

template <class Size, class Locking, class Growth, class Store, class Reuse, class Retention, class Exhaustion, class Checking,
          class Statistics, class Name>
struct policies_complaint {
  static_assert(size_policy<Size>, TARN_P1);
  static_assert(locking_policy<Locking>, TARN_P2);
  static_assert(growth_policy<Growth>, TARN_P3);
  static_assert(store_policy<Store>, TARN_P4);
  static_assert(reuse_policy<Reuse>, TARN_P5);
  static_assert(retention_policy<Retention>, TARN_P6);
  static_assert(exhaustion_policy<Exhaustion>, TARN_P7);
  static_assert(checking_policy<Checking>, TARN_P8);
  static_assert(statistics_policy<Statistics>, TARN_P9);
  static_assert(name_policy<Name>, TARN_P10);
};
template <class Traits>
struct columns_complaint {
  static_assert(column<typename Traits::locking::template per_chunk<Traits>, typename Traits::geometry>, TARN_P2);
  static_assert(column<typename Traits::reuse::template per_chunk<Traits>, typename Traits::geometry>, TARN_P5);
  static_assert(column<typename Traits::checking::template per_chunk<Traits>, typename Traits::geometry>, TARN_P8);
};
template <class Store, class Traits>
struct store_complaint {
  static_assert(serving_store<Store, Traits>, TARN_P4);
};
template <class Exhaustion, class Traits>
struct second_store_complaint {};
template <class Exhaustion, class Traits>
  requires(!second_store_holds<Exhaustion, Traits>)
struct second_store_complaint<Exhaustion, Traits> : store_complaint<typename Exhaustion::second_store, Traits> {};
template <class Traits>
struct members_complaint : second_store_complaint<typename Traits::exhaustion, Traits> {
  static_assert(locking_members<typename Traits::locking, Traits>, TARN_P2);
  static_assert(store_members<typename Traits::store, Traits>, TARN_P4);
  static_assert(reuse_members<typename Traits::reuse, Traits>, TARN_P5);
  static_assert(exhaustion_members<typename Traits::exhaustion, Traits>, TARN_P7);
  static_assert(checking_members<typename Traits::checking, Traits>, TARN_P8);
  static_assert(statistics_members<typename Traits::statistics, Traits>, TARN_P9);
};

#undef TARN_P1
#undef TARN_P2
#undef TARN_P3
#undef TARN_P4
#undef TARN_P5
#undef TARN_P6
#undef TARN_P7
#undef TARN_P8
#undef TARN_P9
#undef TARN_P10

/// Arguments first: a policy whose arguments are refused isn't examined further.
template <class... Ps>
using shape_complaint =
    std::conditional_t<(arguments_hold<Ps> && ...), policies_complaint<Ps...>, arguments_complaint<Ps...>>;

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_COMPOSE_POLICY_COMPLAINTS_H_

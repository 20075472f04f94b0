// Selects the ten policies of a pool from those that the user named, in any order: the explicit one, else one that another
// policy implies, else the default.
#ifndef TARN_ALLOCATOR_DETAIL_COMPOSE_SELECT_H_
#define TARN_ALLOCATOR_DETAIL_COMPOSE_SELECT_H_

#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/compose/judge.h"
#include "tarn/policies/axis.h"
#include "tarn/policies/checking.h"
#include "tarn/policies/exhaustion.h"
#include "tarn/policies/growth.h"
#include "tarn/policies/locking.h"
#include "tarn/policies/name.h"
#include "tarn/policies/retention.h"
#include "tarn/policies/reuse.h"
#include "tarn/policies/size.h"
#include "tarn/policies/statistics.h"
#include "tarn/policies/store.h"

namespace tarn::detail {

/// Whether P is valid by itself, whatever it is combined with. A policy with parameters states this in `arguments_hold`, and
/// the reason in `complaint`. It asserts nothing itself, so naming it causes no error, and using it causes one error here.
template <class P>
inline constexpr bool arguments_hold = true;
template <class P>
  requires requires { P::arguments_hold; }
inline constexpr bool arguments_hold<P> = P::arguments_hold;

/// The policy that P implies for an axis, or void.
template <class P, class Axis>
struct implied_by {
  using type = void;
};
template <class P, class Axis>
  requires policy_on<typename P::implies, Axis>
struct implied_by<P, Axis> {
  using type = typename P::implies;
};

/// The first of the candidates that isn't void, or void.
template <class... Candidates>
struct first_of : std::type_identity<void> {};
template <class First, class... Rest>
struct first_of<First, Rest...> : std::type_identity<First> {};
template <class... Rest>
struct first_of<void, Rest...> : first_of<Rest...> {};

template <class Axis, class P>
using if_on = std::conditional_t<policy_on<P, Axis>, P, void>;

/// The policy that the user named for an axis, else the one that another policy implies, else the default. If two policies
/// imply different ones, the order of the axes decides, so the order of the arguments doesn't matter.
template <class Axis, class Default, class... Ps>
using choose = typename first_of<if_on<Axis, Ps>..., typename implied_by<if_on<axis::locking, Ps>, Axis>::type...,
                                 typename implied_by<if_on<axis::store, Ps>, Axis>::type...,
                                 typename implied_by<if_on<axis::retention, Ps>, Axis>::type...,
                                 typename implied_by<if_on<axis::checking, Ps>, Axis>::type..., Default>::type;

template <class P>
concept bounded_store = store_policy<P> && P::traits.bounded;

/// The default of products that any thread may use. Over a bounded store, no thread may keep free blocks to itself.
template <class... Ps>
using default_sharing = std::conditional_t<(bounded_store<Ps> || ...), shared_locking_of_bounded, shared_locking>;

/// Several policies as one argument. A product uses it to add its own defaults; policies that others imply take precedence.
template <class... Ps>
struct policy_list {
  template <class Axis, class Default>
  using with_default =
      std::conditional_t<std::is_void_v<choose<Axis, void, Ps...>>, policy_list<Ps..., Default>, policy_list<Ps...>>;
  template <template <class...> class Product, class... First>
  using into = Product<First..., Ps...>;
};

template <class P>
struct canonical {
  using type = P;
};
template <class P>
  requires(arguments_hold<P> && requires { typename P::canonical; })
struct canonical<P> {
  using type = typename P::canonical;
};

/// Whether the plain list is the default: small blocks can't hold a batch, and a bounded pool is small.
template <class Size, class Store>
constexpr bool prefers_lifo() noexcept {
  if constexpr (!size_policy<Size> || !store_policy<Store>) return true;  // refused later; no error here
  else if constexpr (Store::traits.bounded) return true;
  else if constexpr (Size::traits.at_run_time) return false;
  else return Size::bytes() < batch_reuse<>::traits.min_block;
}

/// A store with an end has one chunk, whether or not it implies a growth policy.
template <class Store>
constexpr auto default_growth() noexcept {
  if constexpr (bounded_store<Store>) return std::type_identity<no_growth<>>{};
  else return std::type_identity<geometric_growth<>>{};
}

template <template <class...> class Pool, class... Ps>
struct selected {
  using size = typename canonical<choose<axis::size, void, Ps...>>::type;
  using store = choose<axis::store, heap_store, Ps...>;
  using default_growth = typename decltype(detail::default_growth<store>())::type;
  using growth = typename canonical<choose<axis::growth, default_growth, Ps...>>::type;
  using default_reuse = std::conditional_t<prefers_lifo<size, store>(), lifo_reuse<>, batch_reuse<>>;
  using type = Pool<size, choose<axis::locking, no_locking, Ps...>, growth, store,
                    choose<axis::reuse, default_reuse, Ps...>, choose<axis::retention, keep_chunks, Ps...>,
                    choose<axis::exhaustion, report_exhaustion, Ps...>, choose<axis::checking, no_checking, Ps...>,
                    choose<axis::statistics, no_statistics, Ps...>, choose<axis::name, unnamed, Ps...>>;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_COMPOSE_SELECT_H_

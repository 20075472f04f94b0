// The process-wide pool of a tag: constant-initialised, usable before main and after static destruction.
//
//   auto& orders = tarn::static_pool<struct orders_tag, tarn::size_of<Order>>::instance();
//
// It is never destroyed. Chunks stay until trim(), release() or the process's exit.
#ifndef TARN_ALLOCATOR_STATIC_POOL_H_
#define TARN_ALLOCATOR_STATIC_POOL_H_

#include <concepts>
#include <type_traits>

#include "tarn/allocator/detail/pool/slow_path.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/name.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"

namespace tarn {

namespace detail {

enum class static_fitness { good, has_destructor, needs_value, no_constant };

template <class Body>
concept constant_when_new = requires { typename std::bool_constant<(static_cast<void>(Body(values<>{})), true)>; };

/// A policy with a static object whose destructor runs at exit.
template <class P>
concept ends_at_exit = locking_policy<P> && P::traits.ends_at_exit;

template <class... TenPolicies>
constexpr static_fitness judge_static() noexcept {
  if constexpr (!(std::default_initializable<TenPolicies> && ...)) return static_fitness::needs_value;
  else if constexpr ((ends_at_exit<TenPolicies> || ...)) return static_fitness::has_destructor;
  else if constexpr (is_rejected<body_of<void, TenPolicies...>>) return static_fitness::good;  // its own complaint is enough
  else if constexpr (!std::is_trivially_destructible_v<body_of<void, TenPolicies...>>) return static_fitness::has_destructor;
  else if constexpr (!constant_when_new<body_of<some_static_pool, TenPolicies...>>) return static_fitness::no_constant;
  else return static_fitness::good;
}

template <static_fitness Verdict>
struct static_complaint {
  static_assert(
      differs(Verdict, static_fitness::needs_value),
      "tarn: [C8] a static pool was given a policy that needs a value from a constructor call, which a static pool doesn't "
      "have (dynamic_size, buffer_store, resource_store, budgeted without the budget's name, retry_with a function, "
      "run_time_name); use another policy, or a pool object");
  static_assert(
      differs(Verdict, static_fitness::has_destructor),
      "tarn: [C7] a static pool was given a policy or mutex whose destructor would run at exit, while other code still "
      "allocates; use one without a destructor");
  static_assert(differs(Verdict, static_fitness::no_constant),
                "tarn: [C9] a static pool was given a policy or mutex whose constructor would run when the program starts, "
                "maybe after the first allocation; use one with a constexpr constructor, such as tarn::mutex");
};

/// The name policy of a static pool. Without one, the tag is its name, if the system is large enough for a registry and the
/// blocks aren't in the pool object.
template <class Store, class Name>
using name_in_static = std::conditional_t<std::is_same_v<Name, unnamed> && platform::system::has_threads &&
                                              !Store::traits.in_place, name_of_tag, Name>;
template <class Pool>
struct named_by_tag {
  using name = unnamed;
  using type = Pool;
};
template <class Size, class Locking, class Growth, class Store, class Reuse, class Retention, class Exhaustion, class Checking,
          class Statistics, class Name>
struct named_by_tag<basic_pool<Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics, Name>> {
  using name = name_in_static<Store, Name>;
  using type = basic_pool<Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics, name>;
};

/// The body of a static pool with the same policies as a pool object.
template <class Tag, class... TenPolicies>
constexpr auto choose_static(std::type_identity<basic_pool<TenPolicies...>>) noexcept {
  if constexpr (constexpr static_fitness verdict = judge_static<TenPolicies...>(); verdict == static_fitness::good)
    return std::type_identity<body_of<Tag, TenPolicies...>>{};
  else return std::type_identity<rejected<static_complaint<verdict>>>{};
}
template <class Tag, class... Complaints>
constexpr auto choose_static(std::type_identity<rejected<Complaints...>> refused) noexcept {
  return refused;
}

template <class Tag, class Pool>
using static_body_of =
    typename decltype(detail::choose_static<Tag>(std::type_identity<typename named_by_tag<Pool>::type>{}))::type;

/// A checking policy that is constructed from the pool's name.
template <class P>
concept has_name = checking_policy<P> && P::traits.has_name;

template <class Tag, class Pool>
struct static_body;

/// The blocks of a static pool, in an array outside the pool object.
template <class Tag, class Array>
struct static_array {
  static constinit Array its;
};
template <class Tag, class Array>
constinit Array static_array<Tag, Array>::its{};

/// The policies' default values. A policy that reports misuse gets the tag's name.
template <class Tag, class Pool = void>
struct values_of_tag {
  static constexpr bool nothrow = true;

  template <class Array>
  static constexpr Array* array_of() noexcept
    requires(!std::is_void_v<Pool>)
  {
    return detail::pointer_to(static_array<static_body<Tag, Pool>, Array>::its);
  }

  template <class P>
  constexpr P get() const noexcept {
    if constexpr (has_name<P> || std::is_same_v<P, name_of_tag>) return P{name_of_type<Tag>::text()};
    else return P{};
  }
};

/// The pool itself. Its key is the composition, so the order of the policies doesn't matter. Not inline, so that an explicit
/// instantiation declaration leaves it to one library (shared_pool.h).
template <class Tag, class Pool>
struct static_body {
  static constinit static_body_of<Tag, Pool> body;
};
template <class Tag, class Pool>
constexpr auto static_values() noexcept {
  using values = values_of_tag<Tag, Pool>;
  if constexpr (is_rejected<static_body_of<Tag, Pool>>) return values();
  else return detail::with_listing<typename named_by_tag<Pool>::name>(values());
}
template <class Tag, class Pool>
// `detail::` so that no look-up among Pool's friends makes it complete: by itself it may have no name.
constinit static_body_of<Tag, Pool> static_body<Tag, Pool>::body{detail::static_values<Tag, Pool>()};

template <class Body>
inline constexpr bool is_in_place = false;
template <class Traits, class Size>
inline constexpr bool is_in_place<pool_body<Traits, Size>> = Traits::in_place;

}  // namespace detail

/// \tparam Tag       any type, complete or not; each tag has its own pool
/// \tparam Policies  as for pool<...>; each must have a default value and a trivial destructor
template <class Tag, class... Policies>
class static_pool {
  using composition = detail::composed<Policies...>;  // not checked before it has its name

 public:
  /// The pool's members without a destructor.
  using body = detail::static_body_of<Tag, composition>;

  static_pool() = delete;

  /// Returns the pool of the tag. Unless its blocks are an array in it, one instruction hides its address from the compiler, so
  /// that the pool is reached through a register like any object.
  static body& instance() noexcept {
    if constexpr (detail::is_in_place<body>) return detail::static_body<Tag, composition>::body;
    else return *detail::launder_address(detail::pointer_to(detail::static_body<Tag, composition>::body));
  }
};

}  // namespace tarn

#endif  // TARN_ALLOCATOR_STATIC_POOL_H_

// A pool of blocks of one size, composed from policies:
//
//   tarn::pool<tarn::size_of<Order>, tarn::mutex_locking<>, tarn::geometric_growth<64, 4096>> orders;
//   void* block = orders.allocate();
//   orders.deallocate(block);
//
// pool<Policies...> takes policies in any order, and only those that differ from the default. It is an alias of
// basic_pool<...>, which has one policy for each axis, so equal compositions are one type, however they are written.
#ifndef TARN_ALLOCATOR_POOL_H_
#define TARN_ALLOCATOR_POOL_H_

#include <type_traits>

#include "tarn/allocator/detail/compose/pool_traits.h"
#include "tarn/allocator/detail/compose/select.h"
#include "tarn/allocator/detail/pool/members.h"
#include "tarn/policies/platform/config.h"

namespace tarn {

template <class Size, class Locking, class Growth, class Store, class Reuse, class Retention, class Exhaustion, class Checking,
          class Statistics, class Name>
class basic_pool;

namespace detail {

/// The body of a composition, or an inert replacement that holds its one error.
template <class Identity, class Size, class Locking, class Growth, class Store, class Reuse, class Retention, class Exhaustion,
          class Checking, class Statistics, class Name>
constexpr auto choose_body() noexcept {
  if constexpr (!shapes_hold<Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics, Name>) {
    return std::type_identity<
        rejected_shape<Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics, Name>>{};
  } else if constexpr (constexpr rule broken = detail::first_broken(
                           composition_of<Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Name>());
                       broken != rule::none) {
    return std::type_identity<rejected<rule_complaint<broken>>>{};
  } else {
    using identity = std::conditional_t<std::is_void_v<Identity> || std::is_same_v<Identity, part_of_static> ||
                                            Locking::traits.needs_identity, Identity, some_static_pool>;
    using size = size_in_code<Size, Locking, Store, Reuse, Exhaustion, Checking>;
    constexpr bool starts_zero = std::is_void_v<Identity> && has_array<Store, Exhaustion> && std::is_empty_v<Name>;
    using name = std::conditional_t<!Name::traits.is_listed, unnamed, std::conditional_t<starts_zero, listed_as<Name>, listed>>;
    using traits =
        pool_traits<identity, size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics, name>;
    if constexpr (!columns_hold<traits>) return std::type_identity<rejected<columns_complaint<traits>>>{};
    else if constexpr (!members_hold<traits>) return std::type_identity<rejected_members<traits>>{};
    else return std::type_identity<pool_body<traits, Size>>{};
  }
}

template <class Identity, class... TenPolicies>
using body_of = typename decltype(choose_body<Identity, TenPolicies...>())::type;

template <class... TenPolicies>
struct rejection_of<basic_pool<TenPolicies...>> : rejection_of<body_of<void, TenPolicies...>> {};

/// The pool, or its rejected<...>, which is one step less than instantiating the pool with a rejected body.
template <class Pool>
struct judged : std::conditional_t<is_rejected<Pool>, rejection_of<Pool>, std::type_identity<Pool>> {};

}  // namespace detail

/// A pool with one policy for each axis, in the order of the axes:
///
///   allocate, try_allocate, deallocate, also with the size                                      blocks
///   allocate_batch, try_allocate_batch, deallocate_batch                                        many blocks
///   reserve_blocks, try_reserve_blocks                                                          reservations
///   reserve, try_reserve, maintain, trim, release                                               chunks
///   owns, block_size, block_alignment, capacity, statistics, store, pages                       questions
///   verify, note_site, hand_over, explain_fault                                                 checking policies
///   bytes_for, blocks_in                                                                        buffers, static
///   bytes_for_peak                                                                              memory, static
template <class Size, class Locking, class Growth, class Store, class Reuse, class Retention, class Exhaustion, class Checking,
          class Statistics, class Name = unnamed>
class basic_pool
    : public detail::body_of<void, Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics, Name> {
  using body = detail::body_of<void, Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics, Name>;
  using policies =
      detail::policy_types<Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics, Name>;

 public:
  /// \param given  policy objects of this pool, in any order, including those without a default value
  /// Throws: what copying them throws.
  template <class... Given>
  constexpr explicit(sizeof...(Given) == 1) basic_pool(const Given&... given) noexcept(detail::copies_cannot_throw<Given...>)
      : body(detail::with_listing<Name>(detail::accept_values<policies>(given...))) {
    if (!std::is_constant_evaluated() && !std::is_same_v<Name, detail::name_of_class>) this->open();
  }

  basic_pool(const basic_pool&) = TARN_DELETED("tarn: [C14] a pool can't be copied or moved; take a reference");
  basic_pool& operator=(const basic_pool&) = TARN_DELETED("tarn: [C14] a pool can't be copied or moved; take a reference");
  /// Returns every chunk to the store, including blocks in use, which a checking policy reports.
  ~basic_pool() { this->close(); }
};

namespace detail {
/// The pool of these policies, or an inert replacement that holds the one error.
template <class... Ps>
constexpr auto compose() noexcept {
  if constexpr ((is_rejected<Ps> || ...)) {  // a pool that is rejected itself
    return first_of<typename rejection_of<Ps>::type...>{};
  } else if constexpr (!(defined<Ps> && ...)) {
    return std::type_identity<rejected<home<Ps>...>>{};
  } else if constexpr (constexpr selection verdict = judge_selection<Ps...>(); verdict == selection::good) {
    return std::type_identity<typename selected<basic_pool, typename bare<Ps>::type...>::type>{};
  } else {
    return std::type_identity<rejected<selection_complaint<blame<verdict, Ps...>()>>>{};
  }
}

template <class... Ps>
using composed = typename decltype(detail::compose<Ps...>())::type;

/// The body of a pool that is an object: the same members without a destructor, for owners that close it themselves.
/// \tparam Identity  void; or part_of_static, if they never close it
template <class Pool, class Identity = void>
struct body_without_end {
  using type = Pool;  // refused
};
template <class... TenPolicies, class Identity>
struct body_without_end<basic_pool<TenPolicies...>, Identity> {
  using type = body_of<Identity, TenPolicies...>;
};
}  // namespace detail

/// A pool of the policies given, in any order; the others are the defaults.
template <class... Policies>
using pool = typename detail::judged<detail::composed<Policies...>>::type;

}  // namespace tarn

#endif  // TARN_ALLOCATOR_POOL_H_

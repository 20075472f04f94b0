// What is wrong with the policies that the user named, before they are combined: one is no policy, two decide one axis, the
// size is missing ... The rules of combinations are in rules.h.
#ifndef TARN_ALLOCATOR_DETAIL_COMPOSE_JUDGE_H_
#define TARN_ALLOCATOR_DETAIL_COMPOSE_JUDGE_H_

#include <cstddef>
#include <type_traits>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/declared.h"
#include "tarn/policies/size.h"

namespace tarn::detail {

// ---- verdicts: values, which cause no error -----------------------------------------------------------------------------

template <class Axis, class... Ps>
inline constexpr std::size_t count_on = (0 + ... + std::size_t{policy_on<Ps, Axis>});

/// A policy that a product decides by itself. pool<by_product<size_of<T>>, Policies...> has size_of<T>; another size among the
/// policies is refused with words that say who decided.
template <class P>
struct by_product {
  using axis = typename P::axis;
};
template <class P>
struct bare : std::type_identity<P> {};
template <class P>
struct bare<by_product<P>> : std::type_identity<P> {};
template <class P>
inline constexpr bool is_by_product = false;
template <class P>
inline constexpr bool is_by_product<by_product<P>> = true;

enum class selection {
  good,
  no_policy,
  pool_for_policy,
  product_decides_size,
  product_decides_growth,
  product_decides_store,
  product_decides_reuse,
  many_sizes,
  no_size,
  two_sizes,
  two_lockings,
  two_growths,
  two_stores,
  two_reuses,
  two_retentions,
  two_exhaustions,
  two_checkings,
  two_statistics,
  two_names
};

template <class... Ps>
constexpr selection judge_selection() noexcept {
  if (!(policy<Ps> && ...)) return selection::no_policy;
  if ((size_class_policy<Ps> || ...)) return selection::many_sizes;
  if (count_on<axis::size, Ps...> == 0) return selection::no_size;
  if (count_on<axis::size, Ps...> > 1) return selection::two_sizes;
  if (count_on<axis::locking, Ps...> > 1) return selection::two_lockings;
  if (count_on<axis::growth, Ps...> > 1) return selection::two_growths;
  if (count_on<axis::store, Ps...> > 1) return selection::two_stores;
  if (count_on<axis::reuse, Ps...> > 1) return selection::two_reuses;
  if (count_on<axis::retention, Ps...> > 1) return selection::two_retentions;
  if (count_on<axis::exhaustion, Ps...> > 1) return selection::two_exhaustions;
  if (count_on<axis::checking, Ps...> > 1) return selection::two_checkings;
  if (count_on<axis::statistics, Ps...> > 1) return selection::two_statistics;
  if (count_on<axis::name, Ps...> > 1) return selection::two_names;
  return selection::good;
}

/// A pool, or a product over one. No memory resource, which can be asked whether it equals another.
template <class P>
concept pool_like = (requires(P& p, void* block) { p.deallocate(block, 1, 1); } && !requires(P& p) { p.is_equal(p); }) ||
                    requires(P& p) { p.blocks(); } || requires { P::instance(); };

/// Who made the mistake that was found: asked after a verdict, since it takes time.
template <selection Verdict, class... Ps>
constexpr selection blame() noexcept {
  using enum selection;
  constexpr auto decided = []<class Axis>(Axis) { return ((is_by_product<Ps> && policy_on<Ps, Axis>) || ...); };
  if constexpr (Verdict == no_policy) return (pool_like<Ps> || ...) ? pool_for_policy : Verdict;
  else if (Verdict == two_sizes || Verdict == many_sizes) return decided(axis::size{}) ? product_decides_size : Verdict;
  else if (Verdict == two_growths) return decided(axis::growth{}) ? product_decides_growth : Verdict;
  else if (Verdict == two_stores) return decided(axis::store{}) ? product_decides_store : Verdict;
  else if (Verdict == two_reuses) return decided(axis::reuse{}) ? product_decides_reuse : Verdict;
  else return Verdict;
}

// ---- policies that are only declared --------------------------------------------------------------------------------------

/// One error for each policy whose header is missing.
template <class... Ps>
struct homes_of {};
template <class P, class... Ps>
struct homes_of<P, Ps...> : homes_of<Ps...> {
  home<P> of_first;
};

// ---- complaints: one error per mistake ------------------------------------------------------------------------------------

template <selection Verdict>
struct selection_complaint {
  using enum selection;
  static_assert(
      Verdict != no_policy,
      "tarn: [C3] an argument of pool<...> is no policy, so it decides no axis; write size_of<T> for blocks of type T, "
      "mutex_locking<M> for a mutex M");
  static_assert(
      Verdict != pool_for_policy,
      "tarn: [C13] a pool was given where policies are asked for; write the pool's policies in its place (a container can take "
      "a size_class_pool)");
  static_assert(
      Verdict != product_decides_size,
      "tarn: [C12] a size policy was given to a product whose blocks have the size of its type; drop the size policy, or use "
      "pool<...>");
  static_assert(
      Verdict != product_decides_growth,
      "tarn: [C12] a growth policy was given to pool_resource, which grows as its std::pmr::pool_options say; drop the growth "
      "policy, or use size_class_pool");
  static_assert(
      Verdict != product_decides_store,
      "tarn: [C12] a store was given to pool_resource, whose memory comes from the resource that its constructor is given; "
      "drop the store, or use size_class_pool");
  static_assert(
      Verdict != product_decides_reuse,
      "tarn: [C12] a reuse policy was given to recycling_pool, whose idle objects lie behind the links of lifo_reuse; drop the "
      "reuse policy, or use object_pool");
  static_assert(
      Verdict != many_sizes,
      "tarn: [C10] size classes were given to a pool whose blocks have one size; use size_class_pool<...> for blocks of many "
      "sizes, or static_size<Bytes>");
  static_assert(Verdict != no_size,
                "tarn: [C1] no policy was given for the axis size, so no block can be cut; add static_size<Bytes>, size_of<T> "
                "or dynamic_size");
  static_assert(Verdict != two_sizes, "tarn: [C2] two policies were given for the axis size; keep one");
  static_assert(Verdict != two_lockings, "tarn: [C2] two policies were given for the axis locking; keep one");
  static_assert(Verdict != two_growths, "tarn: [C2] two policies were given for the axis growth; keep one");
  static_assert(Verdict != two_stores, "tarn: [C2] two policies were given for the axis store; keep one");
  static_assert(Verdict != two_reuses, "tarn: [C2] two policies were given for the axis reuse; keep one");
  static_assert(Verdict != two_retentions, "tarn: [C2] two policies were given for the axis retention; keep one");
  static_assert(Verdict != two_exhaustions, "tarn: [C2] two policies were given for the axis exhaustion; keep one");
  static_assert(Verdict != two_checkings, "tarn: [C2] two policies were given for the axis checking; keep one");
  static_assert(Verdict != two_statistics, "tarn: [C2] two policies were given for the axis statistics; keep one");
  static_assert(Verdict != two_names, "tarn: [C2] two policies were given for the axis name; keep one");
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_COMPOSE_JUDGE_H_

// The list of tested compositions holds every pair of policies that can live together, and in product_cover.inc every product
// stands with every policy that it takes: proved by other means than cover.cc's, which chose them.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/test/support/compositions.h"
#include "tarn/test/support/kinds.h"
#include "tarn/test/support/products.h"
#include "tarn/test/support/rig.h"

namespace tarn::test {
namespace {

template <class P>
constexpr bool refuses_calls() {
  if constexpr (checking_policy<P>) return P::traits.refuses;
  else return false;
}

struct composition {
  std::vector<policy_id> policies;
  /// Calls go straight to the list. Where each is looked at first, a mistake of the list may be hidden.
  bool is_plain;

  bool has(policy_id one) const { return std::find(policies.begin(), policies.end(), one) != policies.end(); }
};
template <class... Ps>
composition describe(std::type_identity<basic_pool<Ps...>>) {
  return {{id_of<Ps>...}, !(refuses_calls<Ps>() || ...)};
}
template <class... Pools>
std::vector<composition> describe(std::type_identity<std::tuple<Pools...>>) {
  return {describe(std::type_identity<Pools>{})...};
}

std::size_t pools_with(policy_id a, policy_id b, const std::vector<composition>& pools) {
  return static_cast<std::size_t>(
      std::count_if(pools.begin(), pools.end(), [&](const composition& one) { return one.has(a) && one.has(b); }));
}
std::vector<composition> plain_ones(std::vector<composition> pools) {
  std::erase_if(pools, [](const composition& one) { return !one.is_plain; });
  return pools;
}

/// Whether the two can stand in one pool, beside whatever third policy they need.
template <class A, class B>
constexpr bool can_live_together() {
  if constexpr (std::same_as<typename A::axis, typename B::axis>) {
    return false;
  } else {
    using size = std::conditional_t<size_policy<A>, A, std::conditional_t<size_policy<B>, B, static_size<64>>>;
    constexpr auto store_of = []<class P>(std::type_identity<P>) {
      if constexpr (policy_on<P, axis::store>) return std::type_identity<P>{};
      else return std::type_identity<heap_store>{};
    };
    using store_a = typename decltype(store_of(std::type_identity<A>{}))::type;
    using store_b = typename decltype(store_of(std::type_identity<B>{}))::type;
    using named_store = std::conditional_t<std::same_as<store_a, heap_store>, store_b, store_a>;
    constexpr auto returns_pages = []<class P>(std::type_identity<P>) {
      if constexpr (policy_on<P, axis::retention>) return P::traits.returns_pages;
      else return false;
    };
    constexpr bool needs_pages = returns_pages(std::type_identity<A>{}) || returns_pages(std::type_identity<B>{});
    constexpr bool names_store = policy_on<A, axis::store> || policy_on<B, axis::store>;
    using store = std::conditional_t<needs_pages && !names_store, page_store<>, named_store>;
    using growth = std::conditional_t<
        growth_policy<A>, A,
        std::conditional_t<growth_policy<B>, B, std::conditional_t<store::traits.bounded, no_growth<>, geometric_growth<>>>>;
    using retention = std::conditional_t<retention_policy<A>, A, std::conditional_t<retention_policy<B>, B, keep_chunks>>;
    using checking = std::conditional_t<checking_policy<A>, A, std::conditional_t<checking_policy<B>, B, no_checking>>;
    constexpr bool needs_bitmaps = retention::traits.returns_chunks || checking::traits.checks_leaving;
    using own_reuse = std::conditional_t<needs_bitmaps, page_local_reuse<>, lifo_reuse<>>;
    using reuse = std::conditional_t<reuse_policy<A>, A, std::conditional_t<reuse_policy<B>, B, own_reuse>>;
    using exhaustion =
        std::conditional_t<exhaustion_policy<A>, A, std::conditional_t<exhaustion_policy<B>, B, report_exhaustion>>;
    using own_locking = std::conditional_t<exhaustion::traits.needs_frees(), mutex_locking<>, no_locking>;
    using locking = std::conditional_t<locking_policy<A>, A, std::conditional_t<locking_policy<B>, B, own_locking>>;
    using own_name = std::conditional_t<checking::traits.switches, named<"tested">, unnamed>;
    using name = std::conditional_t<name_policy<A>, A, std::conditional_t<name_policy<B>, B, own_name>>;
    return detail::first_broken(detail::composition_of<size, locking, growth, store, reuse, retention, exhaustion, checking,
                                                       name>()) == detail::rule::none;
  }
}

/// One of `kinds`, and which of those after it can stand in a pool with it.
struct kind_of_policy {
  policy_id id;
  const char* name;
  bool checks;
  std::vector<bool> lives_with;
};
template <std::size_t I>
kind_of_policy describe_kind() {
  using P = typename std::tuple_element_t<I, decltype(kinds)>::policy;
  return {id_of<P>, std::get<I>(kinds).name, checking_policy<P>, []<std::size_t... J>(std::index_sequence<J...>) {
            return std::vector<bool>{
                can_live_together<P, typename std::tuple_element_t<I + 1 + J, decltype(kinds)>::policy>()...};
          }(std::make_index_sequence<std::tuple_size_v<decltype(kinds)> - 1 - I>{})};
}

BOOST_AUTO_TEST_CASE(every_legal_pair_of_policies_stands_in_some_tested_composition) {
  const std::vector<composition> tested = describe(std::type_identity<compositions>{});
  const std::vector<composition> plain = plain_ones(tested);
  const auto all = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::vector<kind_of_policy>{describe_kind<I>()...};
  }(std::make_index_sequence<std::tuple_size_v<decltype(kinds)>>{});

  std::size_t pairs = 0;
  std::size_t plain_pairs = 0;  // of policies on other axes than checking
  for (std::size_t i = 0; i != all.size(); ++i) {
    for (std::size_t j = i + 1; j != all.size(); ++j) {
      const kind_of_policy& a = all[i];
      const kind_of_policy& b = all[j];
      const std::string both = std::string(a.name) + " x " + b.name;
      const bool is_tested = pools_with(a.id, b.id, tested) != 0;
      if (!a.lives_with[j - i - 1]) {  // what compiles is legal, so the answer is wrong
        if (is_tested) BOOST_ERROR("a tested composition has what can_live_together() denies, " + both);
        continue;
      }
      ++pairs;
      if (!is_tested) BOOST_ERROR("no tested composition has " + both);
      if (a.checks || b.checks) continue;
      ++plain_pairs;
      if (pools_with(a.id, b.id, plain) == 0) BOOST_ERROR("no tested composition that checks no call has " + both);
    }
  }
  std::printf("%zu legal pairs in %zu compositions\n", pairs, tested.size());
  std::printf("%zu of them, of axes other than checking, also in one that checks no call\n", plain_pairs);
  BOOST_TEST(pairs >= 500u);  // far fewer than there are: a list that wasn't read, or a question that is always denied
  BOOST_TEST(plain_pairs >= 300u);
}

template <class... Pools>
constexpr std::size_t pools_in_place(std::type_identity<std::tuple<Pools...>>) {
  return (std::size_t{0} + ... + std::size_t{facts<Pools>::in_place});
}

BOOST_AUTO_TEST_CASE(some_compositions_are_an_array_in_the_pool) {  // no pair of kinds makes one
  BOOST_TEST(pools_in_place(std::type_identity<compositions>{}) >= 2u);
}

// ---- products: those that a rule refuses stand in products.h, with what shows that ----------------------------------------

struct row {
  std::string_view product;
  std::vector<policy_id> policies;
};
#define ROW(product, ...) {#product, ids_of<__VA_ARGS__>()},
template <class... Ps>
std::vector<policy_id> ids_of() {
  return {id_of<typename detail::canonical<Ps>::type>...};
}
std::vector<row> all_rows() {
  return {
#include "tarn/test/support/product_cover.inc"
  };
}

/// The name of a case of test/compile_fail, or nothing.
std::string_view refused_by(std::string_view product, std::string_view policy) {
  const auto it = std::ranges::find_if(refusals, [&](const refusal& r) { return r.product == product && r.policy == policy; });
  return it == std::end(refusals) ? std::string_view() : it->shown_by;
}

template <class Axis, class... Own>
constexpr bool has_own_on = (policy_on<Own, Axis> || ...);

/// Calls look(product, kind) for each product and each kind of an axis whose policy the product lets its user choose.
template <class Look>
void each_pair(Look look) {
  const auto of_product = [&]<class... Own>(const product_kind<Own...>& product) {
    const auto of_kind = [&]<class P>(const kind<P>& one) {
      if constexpr (!has_own_on<typename P::axis, Own...>)
        look(product.name, one.name, id_of<typename detail::canonical<P>::type>);
    };
    std::apply([&](const auto&... one) { (of_kind(one), ...); }, kinds);
  };
  std::apply([&](const auto&... one) { (of_product(one), ...); }, products);
}

BOOST_AUTO_TEST_CASE(every_product_stands_with_every_policy_that_it_takes) {
  const std::vector<row> rows = all_rows();
  std::size_t pairs = 0;
  std::size_t refused = 0;
  each_pair([&](std::string_view product, std::string_view policy, policy_id id) {
    const bool is_tried = std::ranges::any_of(rows, [&](const row& r) {
      return r.product == product && std::ranges::find(r.policies, id) != r.policies.end();
    });
    const std::string_view shown_by = refused_by(product, policy);
    ++(shown_by.empty() ? pairs : refused);
    BOOST_TEST(is_tried == shown_by.empty(),
               product << " x " << policy << (is_tried ? ": tried, though refused, as shown by " : ": not tried") << shown_by);
  });
  std::printf("%zu pairs of a product and a policy in %zu compositions, %zu refused by a rule\n", pairs, rows.size(), refused);
  BOOST_TEST(pairs >= 230u);  // far fewer than there are: a list that wasn't read
  BOOST_TEST(refused == std::size(refusals));
}

}  // namespace
}  // namespace tarn::test

// Every product stands with every policy that it takes in product_cover.inc: proved by other means than cover.cc's, which chose
// the rows. The others stand in products.h, with what shows that a rule refuses them.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tarn/test/support/kinds.h"
#include "tarn/test/support/products.h"

namespace tarn::test {
namespace {

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

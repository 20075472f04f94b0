// Chooses the tested compositions: few that hold every legal pair of the kinds in kinds.h, and every pair of axes other than
// checking in a composition that refuses no call. Prints each as a line, "path: policies". It reads such lines, too: those that
// are still legal come first, in their order, and only what they lack is added. The same kinds and lines give the same lines.
//
// With an argument, for the products in products.h: few compositions of each product that hold every kind that it takes, and so
// many pairs of kinds as they can. Each is a line, "product: policies".
#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/test/support/kinds.h"
#include "tarn/test/support/products.h"

namespace tarn::test {
namespace {

// ---- kinds as values, so that no template is made for a candidate ---------------------------------------------------------

enum : std::size_t { size, locking, growth, store, reuse, retention, exhaustion, checking, statistics, called, axes };

template <class P>
constexpr std::size_t axis_of() {
  if constexpr (policy_on<P, axis::size>) return size;
  else if constexpr (policy_on<P, axis::locking>) return locking;
  else if constexpr (policy_on<P, axis::growth>) return growth;
  else if constexpr (policy_on<P, axis::store>) return store;
  else if constexpr (policy_on<P, axis::reuse>) return reuse;
  else if constexpr (policy_on<P, axis::retention>) return retention;
  else if constexpr (policy_on<P, axis::exhaustion>) return exhaustion;
  else if constexpr (policy_on<P, axis::checking>) return checking;
  else if constexpr (policy_on<P, axis::statistics>) return statistics;
  else return called;
}

template <class P>
constexpr policy_id implied_by = nullptr;
template <class P>
  requires requires { typename P::implies; }
constexpr policy_id implied_by<P> = id_of<typename P::implies>;

/// What the rules look at, but for the size of the first chunk: where that is too large, the row doesn't compile.
template <class P>
void put_traits(detail::composition& c) {
  if constexpr (constexpr std::size_t on = axis_of<P>(); on == size) {
    c.size = P::traits;
    if constexpr (!P::traits.at_run_time) c.bytes = P::bytes(), c.alignment = P::alignment();
  } else if constexpr (on == locking) {
    c.locking = P::traits;
  } else if constexpr (on == growth) {
    c.growth = P::traits;
  } else if constexpr (on == store) {
    c.store = P::traits;
  } else if constexpr (on == reuse) {
    c.reuse = P::traits;
  } else if constexpr (on == retention) {
    c.retention = P::traits;
  } else if constexpr (on == exhaustion) {
    c.exhaustion = P::traits;
  } else if constexpr (on == checking) {
    c.checking = P::traits;
  } else if constexpr (on == called) {
    c.is_listed = P::traits.is_listed;
  }
}

struct known_kind {
  const char* name;
  std::size_t axis;
  policy_id id;
  policy_id implies;
  bool needs_value;
  void (*put_traits)(detail::composition&);
};
const std::vector<known_kind> all_kinds = std::apply(
    []<class... P>(const kind<P>&... one) {
      return std::vector{known_kind{one.name, axis_of<P>(), id_of<typename kind<P>::policy>, implied_by<P>,
                                    !std::default_initializable<P>, &put_traits<P>}...};
    },
    kinds);

// ---- compositions ---------------------------------------------------------------------------------------------------------

constexpr std::uint8_t no_kind = 255;
static_assert(std::tuple_size_v<decltype(kinds)> < no_kind);

/// A kind for each axis, by its place in the list.
struct candidate {
  std::array<std::uint8_t, axes> kinds{};
  bool refuses = false;
  bool samples = false;
};

/// All legal compositions that begin with the kinds that `so_far` has on the axes before `axis`.
/// \param own    of a product: policies that no row names
/// \param takes  whether a composition is legal
template <class Takes>
void complete(std::size_t axis, candidate so_far, asked a, const std::vector<policy_id>& own, Takes takes,
              std::vector<candidate>& out) {
  if (axis == axes) {
    so_far.refuses = a.c.checking.refuses;
    so_far.samples = a.c.checking.samples;
    if (takes(a)) out.push_back(so_far);
    return;
  }
  const auto is_own = [&](const known_kind& one) { return std::ranges::find(own, one.id) != own.end(); };
  const bool has_own = std::ranges::any_of(all_kinds, [&](const known_kind& one) { return one.axis == axis && is_own(one); });
  for (std::size_t i = 0; i != all_kinds.size(); ++i) {
    const known_kind& one = all_kinds[i];
    if (one.axis != axis || (has_own && !is_own(one))) continue;
    so_far.kinds[axis] = has_own ? no_kind : static_cast<std::uint8_t>(i);
    asked with = a;
    one.put_traits(with.c);
    if (one.needs_value && !has_own) with.needs_value = true;
    if (axis == reuse) {
      with.c.reuse_is_implied = !a.c.locking.own_free_list || all_kinds[so_far.kinds[locking]].implies == one.id;
    }
    complete(axis + 1, so_far, with, own, takes, out);
  }
}

template <class... Ps>
candidate of_pool(std::type_identity<basic_pool<Ps...>>) {
  const auto place_of = [](policy_id id) {
    const auto at = std::ranges::find(all_kinds, id, &known_kind::id);
    return at == all_kinds.end() ? no_kind : static_cast<std::uint8_t>(at - all_kinds.begin());
  };
  detail::composition c;
  (put_traits<Ps>(c), ...);
  return {{place_of(id_of<Ps>)...}, c.checking.refuses, c.checking.samples};
}

// ---- the rows that there are ----------------------------------------------------------------------------------------------

/// The kinds that a row names, in the order of the axes. Where it names anything else, it has no kind, and isn't legal.
candidate parsed(std::string_view policies) {
  candidate one;
  one.kinds.fill(no_kind);
  for (std::size_t i = 0, axis = 0; axis != axes; i = 0, ++axis) {
    for (; i != all_kinds.size() && one.kinds[axis] == no_kind; ++i) {
      const std::string_view name = all_kinds[i].name;
      if (all_kinds[i].axis != axis || !(std::string{policies} + ", ").starts_with(std::string{name} + ", ")) continue;
      one.kinds[axis] = static_cast<std::uint8_t>(i);
      policies.remove_prefix(std::min(name.size() + 2, policies.size()));
    }
  }
  if (!policies.empty()) one.kinds.fill(no_kind);
  return one;
}

/// The lines of standard input.
const std::vector<std::string> old_rows = [] {
  std::vector<std::string> rows;
  for (std::string line; std::getline(std::cin, line);) rows.push_back(line);
  return rows;
}();

/// Those of them that are legal, of a product if one is named.
std::vector<candidate> kept(const std::vector<candidate>& legal, std::string_view product = {}) {
  std::vector<candidate> rows;
  for (const std::string_view line : old_rows) {
    const std::size_t colon = line.find(": ");
    if (colon == line.npos || (!product.empty() && line.substr(0, colon) != product)) continue;
    const auto at = std::ranges::find(legal, parsed(line.substr(colon + 2)).kinds, &candidate::kinds);
    if (at != legal.end()) rows.push_back(*at);
  }
  return rows;
}

// ---- the choice -----------------------------------------------------------------------------------------------------------

/// Calls `f` with a number for each pair of a row. Where calls are refused, only the pairs of the checking policy are needed:
/// its checks may hide a mistake in the others, so that a row without checks must have these. In such a row they are welcome;
/// they have other numbers there, from extra() on.
std::size_t extra() { return all_kinds.size() * all_kinds.size(); }
template <class F>
void each_pair(const candidate& one, F f) {
  for (std::size_t i = 0; i != axes; ++i) {
    for (std::size_t j = i + 1; j != axes; ++j) {
      if (one.kinds[i] == no_kind || one.kinds[j] == no_kind) continue;
      const bool needed = !one.refuses || i == checking || j == checking;
      f(one.kinds[i] * all_kinds.size() + one.kinds[j] + (needed ? 0 : extra()));
    }
  }
}

/// The same for a row of a product: each kind is needed, as a pair with itself, and pairs are welcome.
template <class F>
void each_kind(const candidate& one, F f) {
  for (std::size_t i = 0; i != axes; ++i) {
    if (one.kinds[i] == no_kind) continue;
    f(one.kinds[i] * all_kinds.size() + one.kinds[i]);
    for (std::size_t j = i + 1; j != axes; ++j)
      if (one.kinds[j] != no_kind) f(one.kinds[i] * all_kinds.size() + one.kinds[j] + extra());
  }
}

/// What a pair counts. Few compositions have the one that counts more: rows for it are hard to share.
template <class Show>
std::vector<std::size_t> weights_of_pairs(const std::vector<candidate>& legal, std::size_t extra_weight, Show each_shown) {
  std::vector<std::size_t> weights(2 * extra());
  for (const candidate& one : legal) each_shown(one, [&](std::size_t pair) { ++weights[pair]; });
  for (std::size_t pair = 0; pair != weights.size(); ++pair) {
    if (weights[pair] == 0) continue;
    const double rarity = static_cast<double>(legal.size()) / static_cast<double>(weights[pair]);
    // A square root is rounded alike on every machine.
    weights[pair] = pair < extra() ? static_cast<std::size_t>(100 * std::sqrt(rarity)) : extra_weight;
  }
  return weights;
}

constexpr std::uint32_t orders = 4;  // that are tried; the shortest list of rows is taken

/// Rows that, with those given, show all pairs: the next one is always one that shows most. `order` breaks ties.
template <class Show>
std::vector<candidate> choose(const std::vector<candidate>& legal, const std::vector<candidate>& given,
                              const std::vector<std::size_t>& weights, std::uint32_t order, Show each_shown) {
  std::vector<std::size_t> open = weights;  // 0: shown already
  const auto show = [&](const candidate& one) { each_shown(one, [&](std::size_t pair) { open[pair] = 0; }); };
  const auto gain = [&](const candidate& one) {
    std::size_t needed = 0;
    std::size_t welcome = 0;
    each_shown(one, [&](std::size_t pair) { (pair < extra() ? needed : welcome) += open[pair]; });
    return needed == 0 ? 0 : needed + welcome;
  };
  struct offer {
    std::size_t gain;  // when it was last looked at; it can only have fallen since
    std::uint32_t tie;
    std::size_t at;
    bool operator<(const offer& other) const { return gain != other.gain ? gain < other.gain : tie < other.tie; }
  };

  for (const candidate& one : given) show(one);
  std::vector<offer> offers;
  for (std::size_t i = 0; i != legal.size(); ++i)  // an odd factor: no two are equal
    offers.push_back({gain(legal[i]), (static_cast<std::uint32_t>(i) + order) * 2654435761u, i});
  std::priority_queue<offer> best({}, std::move(offers));
  std::vector<candidate> rows;
  while (best.top().gain != 0) {
    offer top = best.top();
    best.pop();
    if (const std::size_t now = gain(legal[top.at]); now == top.gain) {
      rows.push_back(legal[top.at]);
      show(rows.back());
    } else {
      top.gain = now;
      best.push(top);
    }
  }
  return rows;
}

/// The shortest list of rows.
template <class Show>
std::vector<candidate> fewest(const std::vector<candidate>& legal, const std::vector<candidate>& given,
                              std::size_t extra_weight, Show each_shown) {
  const std::vector<std::size_t> weights = weights_of_pairs(legal, extra_weight, each_shown);
  std::vector<candidate> rows;
  for (std::uint32_t order = 0; order != orders; ++order) {
    std::vector<candidate> some = choose(legal, given, weights, order, each_shown);
    if (order == 0 || some.size() < rows.size()) rows = std::move(some);
  }
  return rows;
}

std::string policies_of(const candidate& one) {
  std::string policies;
  for (const std::uint8_t place : one.kinds)
    if (place != no_kind) policies.append(policies.empty() ? "" : ", ").append(all_kinds[place].name);
  return policies;
}

void print(const candidate& one, const std::string& policies) {
  const char* const path = one.refuses ? one.samples ? "checked_sampled" : "checked" : one.samples ? "sampled" : "plain";
  std::printf("%s: %s\n", path, policies.c_str());
}

int cover() {
  std::vector<candidate> legal;
  const auto is_pool = [](const asked& a) { return detail::first_broken(a.c) == detail::rule::none; };
  complete(0, {}, {}, {}, is_pool, legal);
  std::vector<bool> seen(all_kinds.size());
  for (const candidate& one : legal)
    for (const std::uint8_t place : one.kinds) seen[place] = true;
  for (std::size_t i = 0; i != seen.size(); ++i) {
    if (seen[i]) continue;
    std::fprintf(stderr, "kinds.h: %s stands in no legal composition of kinds\n", all_kinds[i].name);
    return 1;
  }
  std::vector<candidate> given;
  const auto give = [&]<class Pool>(const composition_by_hand<Pool>& one) {
    given.push_back(of_pool(std::type_identity<Pool>{}));
    print(given.back(), one.policies);
  };
  std::apply([&](const auto&... one) { (give(one), ...); }, also_tested);
  const std::size_t by_hand = given.size();
  std::ranges::copy(kept(legal), std::back_inserter(given));
  std::ranges::copy(fewest(legal, given, 60, [](const candidate& c, auto f) { each_pair(c, f); }), std::back_inserter(given));
  for (std::size_t i = by_hand; i != given.size(); ++i) print(given[i], policies_of(given[i]));
  return 0;
}

int cover_products() {
  const auto cover_one = []<class... Own>(const product_kind<Own...>& product) {
    std::vector<candidate> legal;
    complete(0, {}, {}, {id_of<typename detail::canonical<Own>::type>...},
             product.takes, legal);
    std::vector<candidate> rows = kept(legal, product.name);
    std::ranges::copy(fewest(legal, rows, 1, [](const candidate& c, auto f) { each_kind(c, f); }), std::back_inserter(rows));
    for (const candidate& one : rows)
      std::printf("%s: %s\n", product.name, policies_of(one).c_str());
  };
  std::apply([&](const auto&... one) { (cover_one(one), ...); }, products);
  return 0;
}

}  // namespace
}  // namespace tarn::test

int main(int arguments, char**) { return arguments == 1 ? tarn::test::cover() : tarn::test::cover_products(); }

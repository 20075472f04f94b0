// Chooses the tested compositions: few that hold every legal pair of the kinds in kinds.h, and every pair of axes other than
// checking in a composition that refuses no call. Prints each as a line, "path: policies". The same kinds give the same lines.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <queue>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/test/support/kinds.h"

namespace tarn::test {
namespace {

// ---- kinds as values, so that no template is made for a candidate ---------------------------------------------------------

enum : std::size_t { size, locking, growth, store, reuse, retention, exhaustion, checking, statistics, axes };

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
  else return statistics;
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
  }
}

struct known_kind {
  const char* name;
  std::size_t axis;
  policy_id id;
  policy_id implies;
  void (*put_traits)(detail::composition&);
};
const std::vector<known_kind> all_kinds = std::apply(
    []<class... P>(const kind<P>&... one) {
      return std::vector{known_kind{one.name, axis_of<P>(), id_of<typename kind<P>::policy>, implied_by<P>, &put_traits<P>}...};
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
void complete(std::size_t axis, candidate so_far, detail::composition c, std::vector<candidate>& out) {
  if (axis == axes) {
    so_far.refuses = c.checking.refuses;
    so_far.samples = c.checking.samples;
    if (detail::first_broken(c) == detail::rule::none) out.push_back(so_far);
    return;
  }
  for (std::size_t i = 0; i != all_kinds.size(); ++i) {
    const known_kind& one = all_kinds[i];
    if (one.axis != axis) continue;
    so_far.kinds[axis] = static_cast<std::uint8_t>(i);
    one.put_traits(c);
    if (axis == reuse) {
      c.reuse_is_implied = !c.locking.own_free_list || all_kinds[so_far.kinds[locking]].implies == one.id;
    }
    complete(axis + 1, so_far, c, out);
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

/// What a pair counts. Few compositions have the one that counts more: rows for it are hard to share.
constexpr std::size_t extra_weight = 60;
std::vector<std::size_t> weights_of_pairs(const std::vector<candidate>& legal) {
  std::vector<std::size_t> weights(2 * extra());
  for (const candidate& one : legal) each_pair(one, [&](std::size_t pair) { ++weights[pair]; });
  for (std::size_t pair = 0; pair != weights.size(); ++pair) {
    if (weights[pair] == 0) continue;
    const double rarity = static_cast<double>(legal.size()) / static_cast<double>(weights[pair]);
    // A square root is rounded alike on every machine.
    weights[pair] = pair < extra() ? static_cast<std::size_t>(100 * std::sqrt(rarity)) : extra_weight;
  }
  return weights;
}

constexpr std::uint32_t orders = 12;  // that are tried; the shortest list of rows is taken

/// Rows that, with those given, show all pairs: the next one is always one that shows most. `order` breaks ties.
std::vector<candidate> choose(const std::vector<candidate>& legal, const std::vector<candidate>& given,
                              const std::vector<std::size_t>& weights, std::uint32_t order) {
  std::vector<std::size_t> open = weights;  // 0: shown already
  const auto show = [&](const candidate& one) { each_pair(one, [&](std::size_t pair) { open[pair] = 0; }); };
  const auto gain = [&](const candidate& one) {
    std::size_t needed = 0;
    std::size_t welcome = 0;
    each_pair(one, [&](std::size_t pair) { (pair < extra() ? needed : welcome) += open[pair]; });
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

void print(const candidate& one, const std::string& policies) {
  const char* const path = one.refuses ? one.samples ? "checked_sampled" : "checked" : one.samples ? "sampled" : "plain";
  std::printf("%s: %s\n", path, policies.c_str());
}

int cover() {
  std::vector<candidate> legal;
  complete(0, {}, {}, legal);
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
  const std::vector<std::size_t> weights = weights_of_pairs(legal);
  std::vector<candidate> rows;
  for (std::uint32_t order = 0; order != orders; ++order) {
    std::vector<candidate> some = choose(legal, given, weights, order);
    if (order == 0 || some.size() < rows.size()) rows = std::move(some);
  }
  for (const candidate& one : rows) {
    std::string policies;
    for (const std::uint8_t place : one.kinds) policies.append(policies.empty() ? "" : ", ").append(all_kinds[place].name);
    print(one, policies);
  }
  return 0;
}

}  // namespace
}  // namespace tarn::test

int main() { return tarn::test::cover(); }

// A list by rank: its order, and that entering and leaving cost the same however long it is.
#include "tarn/policies/detail/process_list.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <random>
#include <vector>

namespace {

struct node {
  explicit node(int its) : its_rank(its) {}
  int rank() const {
    ++steps;
    return its_rank;
  }
  int its_rank;
  tarn::detail::ranked<node> links;
  static inline std::size_t steps = 0;
};
using list = tarn::detail::ranked_list<node>;

std::vector<const node*> forwards(const list& of) {
  std::vector<const node*> all;
  for (const node* n = of.first(); n != nullptr; n = n->links.after) all.push_back(n);
  return all;
}
std::vector<const node*> backwards(const list& of) {
  std::vector<const node*> all;
  const node* n = of.first();
  while (n != nullptr && n->links.after != nullptr) n = n->links.after;
  for (; n != nullptr; n = n->links.before) all.push_back(n);
  std::reverse(all.begin(), all.end());
  return all;
}

BOOST_AUTO_TEST_CASE(nodes_come_by_rank_and_then_as_they_entered) {
  list all;
  std::deque<node> nodes;
  std::vector<const node*> model;
  std::mt19937 random(1);
  for (int i = 0; i < 60; ++i) nodes.emplace_back(i * 7 % 5 - 2);
  std::vector<bool> inside(nodes.size());
  for (int round = 0; round < 3000; ++round) {
    const std::size_t i = random() % nodes.size();
    node& n = nodes[i];
    if (inside[i]) {
      all.leave(n);
      std::erase(model, &n);
    } else {
      all.enter(n);
      const auto behind = [&](const node* other) { return other->its_rank > n.its_rank; };
      model.insert(std::find_if(model.begin(), model.end(), behind), &n);
    }
    inside[i] = !inside[i];
    BOOST_REQUIRE((forwards(all) == model));
    BOOST_REQUIRE((backwards(all) == model));
  }
}

/// Ranks that are read while that many nodes of three ranks enter and leave.
std::size_t steps_for(std::size_t n) {
  list all;
  std::deque<node> nodes;
  for (std::size_t i = 0; i != n; ++i) nodes.emplace_back(static_cast<int>(i % 3));
  node::steps = 0;
  for (node& one : nodes) all.enter(one);
  for (std::size_t i = 0; i != n; ++i) all.leave(nodes[i * 7 % n]);
  BOOST_TEST(all.first() == nullptr);
  return node::steps;
}

BOOST_AUTO_TEST_CASE(twice_as_many_nodes_take_twice_as_many_steps) {
  const std::size_t once = steps_for(1000);
  BOOST_TEST(once < 15'000u);
  BOOST_TEST(steps_for(2000) < 2 * once + 100);
}

}  // namespace

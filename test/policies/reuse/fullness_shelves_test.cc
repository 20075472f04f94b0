// The shelves of chunks by how full they are.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <list>
#include <map>
#include <random>
#include <vector>

#include "tarn/policies/reuse/block_bitmap.h"

namespace {

struct node : tarn::detail::shelved<node> {};
using shelves = tarn::detail::fullness_shelves<node>;

BOOST_AUTO_TEST_CASE(fuller_chunks_stand_higher) {
  for (const std::size_t blocks : {1u, 2u, 15u, 16u, 17u, 100u, 4096u, 65535u, 65536u, 1'000'000u}) {
    BOOST_TEST(shelves::shelf_for(0, blocks) == 0u);
    unsigned last = 0;
    for (std::size_t used = 1; used <= blocks; used += 1 + blocks / 1000) {
      const unsigned shelf = shelves::shelf_for(used, blocks);
      BOOST_REQUIRE(shelf >= 1u);
      BOOST_REQUIRE(shelf >= last);
      BOOST_REQUIRE(shelf <= 16u);
      last = shelf;
    }
    if (blocks >= 16) BOOST_TEST(last >= 8u);
  }
}

BOOST_AUTO_TEST_CASE(they_agree_with_a_map_of_lists) {
  shelves all;
  std::map<unsigned, std::list<node*>> model;
  std::vector<node> nodes(40);
  std::mt19937 random(5);
  const auto remove = [&](node& n) {
    for (auto& [shelf, list] : model) list.remove(&n);
    std::erase_if(model, [](const auto& entry) { return entry.second.empty(); });
  };
  for (int step = 0; step < 100'000; ++step) {
    node& n = nodes[random() % nodes.size()];
    if (random() % 3 == 0) {
      all.remove(n);
      remove(n);
      BOOST_REQUIRE(shelves::shelf_of(n) == node::nowhere);
    } else {
      const auto shelf = static_cast<unsigned>(random() % 17);
      if (shelves::shelf_of(n) != shelf) {
        remove(n);
        model[shelf].push_front(&n);
      }
      all.put(n, shelf);
    }
    BOOST_REQUIRE(all.fullest() == (model.empty() ? nullptr : model.rbegin()->second.front()));
    const auto empty = model.find(0);
    BOOST_REQUIRE(all.empties() == (empty == model.end() ? 0u : empty->second.size()));
    BOOST_REQUIRE(all.empty() == (empty == model.end() ? nullptr : empty->second.front()));
  }
}

}  // namespace

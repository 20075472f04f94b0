// The sort of a list of free blocks: ascending, and the same blocks, whatever their order was.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>
#include <vector>

#include "tarn/policies/detail/sorting.h"

namespace {

using tarn::detail::free_link;
using tarn::detail::sort_links;

/// Links the blocks in that order, sorts them, and compares.
bool sorts(std::vector<free_link>& blocks, const std::vector<std::size_t>& order) {
  free_link* list = nullptr;
  for (std::size_t i = order.size(); i-- != 0;) {
    blocks[order[i]].next = list;
    list = &blocks[order[i]];
  }
  std::vector<std::size_t> expected = order;
  std::sort(expected.begin(), expected.end());
  const free_link* at = sort_links(list);
  for (const std::size_t i : expected) {
    if (at != &blocks[i]) return false;
    at = at->next;
  }
  return at == nullptr;
}

std::vector<std::size_t> ascending(std::size_t n) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

BOOST_AUTO_TEST_CASE(none_and_one) {
  BOOST_TEST(sort_links(nullptr) == nullptr);
  std::vector<free_link> blocks(1);
  BOOST_TEST(sorts(blocks, {0}));
}

BOOST_AUTO_TEST_CASE(every_order_of_up_to_seven) {
  std::vector<free_link> blocks(7);
  for (std::size_t n = 2; n <= 7; ++n) {
    auto order = ascending(n);
    std::size_t wrong = 0;
    do wrong += !sorts(blocks, order);
    while (std::next_permutation(order.begin(), order.end()));
    BOOST_TEST(wrong == 0u);
  }
}

BOOST_AUTO_TEST_CASE(orders_that_are_made_often) {
  for (const std::size_t n : {2u, 63u, 64u, 65u, 1000u, 100'000u}) {
    std::vector<free_link> blocks(n);
    auto order = ascending(n);
    BOOST_TEST(sorts(blocks, order));
    std::reverse(order.begin(), order.end());
    BOOST_TEST(sorts(blocks, order));
    std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n / 3), order.end());
    BOOST_TEST(sorts(blocks, order));
    for (std::size_t i = 0; i + 1 < n; i += 2) std::swap(order[i], order[i + 1]);
    BOOST_TEST(sorts(blocks, order));
    std::vector<std::size_t> zigzag;  // the lowest, the highest, the second lowest ...: each run is two long
    for (std::size_t i = 0; i < n / 2; ++i) {
      zigzag.push_back(i);
      zigzag.push_back(n - 1 - i);
    }
    BOOST_TEST(sorts(blocks, zigzag));
    std::vector<std::size_t> outwards;  // from the middle to both sides: one run
    for (std::size_t i = 0; i < n / 2; ++i) {
      outwards.push_back(n / 2 + i);
      outwards.push_back(n / 2 - 1 - i);
    }
    BOOST_TEST(sorts(blocks, outwards));
  }
}

BOOST_AUTO_TEST_CASE(random_orders_of_some_of_the_blocks) {
  std::mt19937_64 random(1);
  for (const std::size_t n : {3u, 10u, 100u, 1000u, 3000u, 100'000u}) {
    std::vector<free_link> blocks(2 * n);
    for (int round = 0; round < (n < 10'000 ? 30 : 1); ++round) {
      auto order = ascending(2 * n);
      std::shuffle(order.begin(), order.end(), random);
      order.resize(n);
      BOOST_TEST(sorts(blocks, order));
    }
  }
}

}  // namespace

// Blocks in a random order, and in that of their addresses: what was never handed out comes as a permutation, each as often as
// any other, and another in every pool; a list of free blocks is sorted whatever its order was.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "tarn/policies/detail/geometry.h"

namespace {

using tarn::detail::free_link;
using tarn::detail::shuffler;
using tarn::detail::sort_links;

/// n addresses, ascending.
std::vector<void*> ascending(std::size_t n) {
  static std::array<char, 10'000> memory;
  std::vector<void*> all(n);
  for (std::size_t i = 0; i != n; ++i) all[i] = &memory[i];
  return all;
}

BOOST_AUTO_TEST_CASE(no_block_is_lost_or_comes_twice) {
  shuffler shuffle;
  for (std::size_t n = 0; n != 300; ++n) {
    auto blocks = ascending(n);
    shuffle(blocks.data(), n);
    std::ranges::sort(blocks);
    BOOST_TEST(blocks == ascending(n));
  }
  auto many = ascending(10'000);
  shuffle(many.data(), many.size());
  BOOST_TEST(many != ascending(10'000));
  std::ranges::sort(many);
  BOOST_TEST(many == ascending(10'000));
}

BOOST_AUTO_TEST_CASE(only_what_was_given_is_shuffled) {
  shuffler shuffle;
  auto blocks = ascending(66);
  shuffle(blocks.data() + 1, 64);
  BOOST_TEST(blocks.front() == ascending(66).front());
  BOOST_TEST(blocks.back() == ascending(66).back());
}

BOOST_AUTO_TEST_CASE(every_order_comes_as_often) {
  constexpr std::size_t n = 4;
  constexpr std::size_t orders = 24;
  constexpr std::size_t times = 48'000;
  shuffler shuffle;
  std::map<std::vector<void*>, std::size_t> seen;
  for (std::size_t i = 0; i != times; ++i) {
    auto blocks = ascending(n);
    shuffle(blocks.data(), n);
    ++seen[blocks];
  }
  BOOST_TEST(seen.size() == orders);
  double chi_squared = 0;
  constexpr double expected = times / orders;
  for (const auto& [order, count] : seen) {
    const double off = static_cast<double>(count) - expected;
    chi_squared += off * off / expected;
  }
  std::printf("chi squared of %zu orders: %.1f\n", seen.size(), chi_squared);
  BOOST_TEST(chi_squared < 70);  // 23 degrees of freedom: one in a million is above
}

BOOST_AUTO_TEST_CASE(every_pool_and_batch_has_an_order_of_its_own) {
  std::vector<shuffler> pools(500);  // side by side in memory, as pools may be
  std::set<std::vector<void*>> first;
  std::set<void*> first_blocks;
  for (shuffler& shuffle : pools) {
    auto blocks = ascending(64);
    shuffle(blocks.data(), blocks.size());
    first_blocks.insert(blocks[0]);
    first.insert(std::move(blocks));
  }
  BOOST_TEST(first.size() == pools.size());
  BOOST_TEST(first_blocks.size() >= 60u);  // each of the 64 comes first in some pool
  for (int i = 0; i != 500; ++i) {  // nor does a pool repeat one
    auto blocks = ascending(64);
    pools[0](blocks.data(), blocks.size());
    first.insert(std::move(blocks));
  }
  BOOST_TEST(first.size() == pools.size() + 500);
}

// ---- sorted ----------------------------------------------------------------------------------------------------------------

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

std::vector<std::size_t> numbers(std::size_t n) {
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
    auto order = numbers(n);
    std::size_t wrong = 0;
    do wrong += !sorts(blocks, order);
    while (std::next_permutation(order.begin(), order.end()));
    BOOST_TEST(wrong == 0u);
  }
}

BOOST_AUTO_TEST_CASE(orders_that_are_made_often) {
  for (const std::size_t n : {2u, 63u, 64u, 65u, 1000u, 100'000u}) {
    std::vector<free_link> blocks(n);
    auto order = numbers(n);
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
      auto order = numbers(2 * n);
      std::shuffle(order.begin(), order.end(), random);
      order.resize(n);
      BOOST_TEST(sorts(blocks, order));
    }
  }
}

}  // namespace

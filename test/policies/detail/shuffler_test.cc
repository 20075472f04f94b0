// The order of blocks that were never handed out: a permutation, each as often as any other, and another in every pool.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "tarn/policies/detail/sorting.h"

namespace {

using tarn::detail::shuffler;

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

}  // namespace

// The chunk map alone: from any address to its chunk, whatever the order in which chunks come and go.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "tarn/allocator/detail/chunk_map.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/stand_in.h"

namespace {

struct chunk {
  std::byte* first = nullptr;
  std::size_t blocks = 0;
  chunk* left = nullptr;
  chunk* right = nullptr;
  chunk* next = nullptr;
};
using geometry = tarn::detail::geometry<tarn::detail::stand_in_size, tarn::detail::block_shape{}>;  // 64 bytes
using chunk_tree = tarn::detail::chunk_tree<chunk, geometry>;

std::size_t depth(const chunk* c) { return c == nullptr ? 0 : 1 + std::max(depth(c->left), depth(c->right)); }

struct land {
  static constexpr std::size_t span = 4096;  // a chunk of 1 to 60 blocks lies somewhere in each
  explicit land(std::size_t chunks) : bytes(new std::byte[chunks * span]), all(chunks) {
    std::mt19937 random(7);
    for (std::size_t i = 0; i < chunks; ++i) all[i] = {bytes.get() + i * span + random() % 4 * 64, 1 + random() % 60};
  }
  std::unique_ptr<std::byte[]> bytes;
  std::vector<chunk> all;
};

void check(const chunk_tree& map, const land& land, std::size_t from, std::size_t to) {
  const geometry g;
  for (std::size_t i = from; i < to; ++i) {
    const chunk& c = land.all[i];
    BOOST_REQUIRE(map.find(c.first, g) == &c);
    BOOST_REQUIRE(map.find(c.first + c.blocks * 64 - 1, g) == &c);
    BOOST_REQUIRE(map.find(c.first - 1, g) != &c);
    BOOST_REQUIRE(map.find(c.first + c.blocks * 64, g) != &c);
  }
  BOOST_TEST(map.find(nullptr, g) == nullptr);
  BOOST_TEST(map.find(&map, g) == nullptr);
}

BOOST_AUTO_TEST_CASE(ascending_descending_and_shuffled) {
  for (const int order : {0, 1, 2}) {
    land land(3000);
    std::vector<chunk*> chunks;
    for (chunk& c : land.all) chunks.push_back(&c);
    if (order == 1) std::reverse(chunks.begin(), chunks.end());
    if (order == 2) std::shuffle(chunks.begin(), chunks.end(), std::mt19937(3));
    chunk_tree map;
    for (chunk* const c : chunks) map.insert(*c);
    check(map, land, 0, land.all.size());
    std::set<const chunk*> roots;  // those that nobody has below himself: one
    for (const chunk& c : land.all) roots.insert(&c);
    for (const chunk& c : land.all) {
      roots.erase(c.left);
      roots.erase(c.right);
    }
    BOOST_REQUIRE(roots.size() == 1u);
    BOOST_TEST(depth(*roots.begin()) <= 60u);  // expected: about 2 ln 3000 = 16 levels, in any order
    std::size_t taken = 0;
    for (chunk* c = map.take_all(); c != nullptr; c = c->next) ++taken;
    BOOST_TEST(taken == land.all.size());
    BOOST_TEST(map.find(land.all[5].first, geometry{}) == nullptr);
  }
}

BOOST_AUTO_TEST_CASE(chunks_go_and_come_back) {
  land land(500);
  chunk_tree map;
  for (chunk& c : land.all) map.insert(c);
  for (int round = 0; round < 5; ++round) {
    for (chunk *c = map.take_all(), *next; c != nullptr; c = next) {
      next = c->next;
      if (c >= &land.all[100]) map.insert(*c);
    }
    BOOST_TEST(map.find(land.all[50].first, geometry{}) == nullptr);
    check(map, land, 100, 500);
    for (std::size_t i = 0; i < 100; ++i) map.insert(land.all[i]);
    check(map, land, 0, 500);
  }
}

}  // namespace

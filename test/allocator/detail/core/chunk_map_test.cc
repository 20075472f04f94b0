// The chunk map alone: from any address to its chunk, whatever the order in which chunks come and go.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "tarn/allocator/detail/core/chunk_map.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/size/static_size.h"
#include "tarn/test/support/check.h"

namespace {

struct chunk {
  std::byte* first = nullptr;
  std::size_t blocks = 0;
  chunk* left = nullptr;
  chunk* right = nullptr;
  chunk* next = nullptr;
};
using geometry = tarn::detail::geometry<tarn::static_size<64>, tarn::detail::block_shape{}>;
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

/// The table of a chunk_index, of which the pool would get the memory; and that of each before it.
struct index : tarn::detail::chunk_index<chunk, geometry> {
  std::vector<std::unique_ptr<std::byte[]>> tables;

  void insert(chunk& c, const geometry& g, tarn::test::called_from = {}) {
    c.next = nullptr;
    if (const std::size_t bytes = shortage(&c, g)) {
      tables.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
      supply({tables.back().get(), bytes}, g);
      BOOST_REQUIRE(shortage(&c, g) == 0u);
    }
    chunk_index::insert(c, g);
  }
};
using maps = std::tuple<chunk_tree, index>;

void check(const auto& map, const land& land, std::size_t from, std::size_t to, tarn::test::called_from = {}) {
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

BOOST_AUTO_TEST_CASE_TEMPLATE(ascending_descending_and_shuffled, map_type, maps) {
  for (const int order : {0, 1, 2}) {
    land land(3000);
    std::vector<chunk*> chunks;
    for (chunk& c : land.all) chunks.push_back(&c);
    if (order == 1) std::reverse(chunks.begin(), chunks.end());
    if (order == 2) std::shuffle(chunks.begin(), chunks.end(), std::mt19937(3));
    map_type map;
    for (chunk* const c : chunks) map.insert(*c, geometry{});
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

BOOST_AUTO_TEST_CASE_TEMPLATE(all_chunks_go_and_come_back, map_type, maps) {
  land land(500);
  map_type map;
  for (chunk& c : land.all) map.insert(c, geometry{});
  for (int round = 0; round < 5; ++round) {
    for (chunk *c = map.take_all(), *next; c != nullptr; c = next) {
      next = c->next;
      if (c >= &land.all[100]) map.insert(*c, geometry{});
    }
    BOOST_TEST(map.find(land.all[50].first, geometry{}) == nullptr);
    check(map, land, 100, 500);
    for (std::size_t i = 0; i < 100; ++i) map.insert(land.all[i], geometry{});
    check(map, land, 0, 500);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(single_chunks_go_and_come_back, map_type, maps) {
  land land(700);
  map_type map;
  std::vector<bool> in(land.all.size());
  std::mt19937 random(11);
  const geometry g;
  std::size_t changes = 0;
  for (int step = 0; step < 40'000; ++step) {
    const std::size_t i = random() % land.all.size();
    chunk& c = land.all[i];
    BOOST_REQUIRE((map.find(c.first, g) == &c) == in[i]);
    if (in[i]) map.erase(c, g);
    else map.insert(c, g);
    in[i] = !in[i];
    ++changes;
    if (step % 1000 != 0) continue;
    const chunk* previous = nullptr;
    std::size_t found = 0;
    for (const chunk* each = map.after(nullptr); each != nullptr; previous = each, each = map.after(each->first), ++found)
      BOOST_REQUIRE(previous < each);  // they lie in `all` as they lie in memory
    BOOST_TEST(found == static_cast<std::size_t>(std::count(in.begin(), in.end(), true)));
    for (std::size_t k = 0; k != in.size(); ++k)
      BOOST_REQUIRE((map.find(land.all[k].first + land.all[k].blocks * 64 - 1, g) == &land.all[k]) == in[k]);
  }
  BOOST_TEST(changes == 40'000u);
}

BOOST_AUTO_TEST_CASE(chunks_of_all_sizes_stand_in_one_table) {
  constexpr std::size_t room = 64u << 20;
  const auto bytes = std::make_unique_for_overwrite<std::byte[]>(room);
  std::vector<std::unique_ptr<chunk>> all;
  index map;
  std::size_t at = 0;
  for (std::size_t blocks = 64; at + blocks * 64 <= room; blocks = blocks < 60'000 ? 2 * blocks : 64) {
    all.push_back(std::make_unique<chunk>(chunk{bytes.get() + at, blocks}));
    map.insert(*all.back(), geometry{});
    at += blocks * 64;
  }
  BOOST_TEST(all.size() >= 60u);
  std::size_t looked_up = 0;
  for (std::size_t offset = 0; offset < at; offset += 4096 - 64) {
    const chunk* const c = map.find(bytes.get() + offset, geometry{});
    BOOST_REQUIRE(c != nullptr);
    BOOST_REQUIRE(c->first <= bytes.get() + offset);
    BOOST_REQUIRE(bytes.get() + offset < c->first + c->blocks * 64);
    ++looked_up;
  }
  BOOST_TEST(looked_up > 15'000u);
}

}  // namespace

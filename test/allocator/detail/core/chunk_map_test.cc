// The chunk map alone: from any address to its chunk, whatever the order in which chunks come and go.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "tarn/allocator/detail/core/chunk_map.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/locking/lock_free.h"
#include "tarn/policies/platform/secret.h"
#include "tarn/policies/size.h"
#include "tarn/test/support/check.h"

namespace {

struct chunk {
  static constexpr bool is_guarded = false;
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
  for (const int order : {0, 1, 2}) {  // of which depth: the_tree_is_flat_whatever_lies_between_its_chunks
    land land(3000);
    std::vector<chunk*> chunks;
    for (chunk& c : land.all) chunks.push_back(&c);
    if (order == 1) std::reverse(chunks.begin(), chunks.end());
    if (order == 2) std::shuffle(chunks.begin(), chunks.end(), std::mt19937(3));
    map_type map;
    for (chunk* const c : chunks) map.insert(*c, geometry{});
    check(map, land, 0, land.all.size());
    std::size_t taken = 0;
    for (chunk* c = map.take_all(); c != nullptr; c = c->next) ++taken;
    BOOST_TEST(taken == land.all.size());
    BOOST_TEST(map.find(land.all[5].first, geometry{}) == nullptr);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(single_chunks_go_and_come_back, map_type, maps) {
  land land(3000);  // so that larger tables are made meanwhile
  map_type map;
  std::vector<bool> in(land.all.size());
  std::mt19937 random(11);
  const geometry g;
  for (int step = 0; step < 40'000; ++step) {
    const std::size_t i = random() % land.all.size();
    chunk& c = land.all[i];
    BOOST_REQUIRE((map.find(c.first, g) == &c) == in[i]);
    if (in[i]) map.take_out(c, g);
    else map.insert(c, g);
    in[i] = !in[i];
    if (step % 1000 != 0) continue;
    const chunk* previous = nullptr;
    std::size_t found = 0;
    for (const chunk* each = map.after(nullptr); each != nullptr; previous = each, each = map.after(each->first), ++found)
      BOOST_REQUIRE(previous < each);  // they lie in `all` as they lie in memory
    BOOST_TEST(found == static_cast<std::size_t>(std::count(in.begin(), in.end(), true)));
    for (std::size_t k = 0; k != in.size(); ++k)
      BOOST_REQUIRE((map.find(land.all[k].first + land.all[k].blocks * 64 - 1, g) == &land.all[k]) == in[k]);
  }
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

// A lookup that misses is sure only where nothing is left out; that must hold again once such a chunk is gone.
BOOST_AUTO_TEST_CASE(a_chunk_of_too_many_granules_is_left_out_until_it_goes) {
  using table = tarn::detail::granule_table<chunk, geometry>;
  std::vector<table::place> places(64);
  table small;
  small.open(places.data(), places.size(), 6);
  chunk c{reinterpret_cast<std::byte*>(0x5555'0000'0000), table::most_granules + 1};
  small.enter(c, geometry{});
  BOOST_TEST(!small.has_all());
  small.take_out(c, geometry{});
  BOOST_TEST(small.is_empty());
}

// ---- the steps of a call, in every pattern of addresses: counted, at n and at 2n chunks ------------------------------------

/// Chunks of one block, `stride` bytes apart. No address is ever followed.
std::vector<chunk> spaced(std::size_t n, std::uint64_t stride) {
  std::vector<chunk> all(n);
  const std::uintptr_t start = 0x5555'0000'0000;
  for (std::size_t i = 0; i != n; ++i) all[i] = {reinterpret_cast<std::byte*>(start + i * stride), 1};
  return all;
}

/// A secret that hardly changes an address, so that nothing but the hash scatters them; and the same in each run.
class plain_secret {
 public:
  plain_secret() {
    tarn::detail::secret();
    drawn_ = tarn::detail::secret_of_process.exchange(1, tarn::detail::memory_order_relaxed);
  }
  ~plain_secret() { tarn::detail::secret_of_process.store(drawn_, tarn::detail::memory_order_relaxed); }
  plain_secret(const plain_secret&) = delete;
  plain_secret& operator=(const plain_secret&) = delete;

 private:
  std::uintptr_t drawn_;
};

/// Of the tree of those that are `in` it.
std::size_t depth_of(const std::vector<chunk>& all, const std::vector<bool>& in) {
  std::vector<bool> is_root = in;
  for (std::size_t i = 0; i != all.size(); ++i)
    for (const chunk* const below : {all[i].left, all[i].right})
      if (in[i] && below != nullptr) is_root[static_cast<std::size_t>(below - all.data())] = false;
  const auto root = std::find(is_root.begin(), is_root.end(), true);
  return root == is_root.end() ? 0 : depth(&all[static_cast<std::size_t>(root - is_root.begin())]);
}
/// `left` 1: of all chunks; 3: of every third, after the others went one by one.
std::size_t depth_of_tree(std::size_t n, std::uint64_t stride, std::size_t left = 1) {
  std::vector<chunk> all = spaced(n, stride);
  std::vector<bool> in(n, true);
  chunk_tree tree;
  for (chunk& c : all) tree.insert(c, geometry{});
  for (std::size_t i = 0; i != n; ++i) {
    if (i % left == 0) continue;
    tree.take_out(all[i], geometry{});
    in[i] = false;
  }
  return depth_of(all, in);
}

/// From 64 on: powers of two, and Fibonacci's numbers times `unit`.
std::vector<std::uint64_t> all_strides(std::uint64_t unit) {
  std::vector<std::uint64_t> strides = {64, 1024, 4096, 46'368, 65'536, 2u << 20, 1u << 30};
  std::uint64_t before = 1;
  for (std::uint64_t f = 2; f < std::uint64_t{1} << 34; before = std::exchange(f, f + before))
    if (f * unit >= 64) strides.push_back(f * unit);
  return strides;
}

BOOST_AUTO_TEST_CASE(the_tree_is_flat_whatever_lies_between_its_chunks) {
  const plain_secret here;
  for (const std::uint64_t stride : all_strides(1)) {
    // Expected: about 2 ln n, so 15 and 16.6.
    BOOST_TEST(depth_of_tree(2000, stride) <= 60u, stride);
    BOOST_TEST(depth_of_tree(4000, stride) <= 60u, stride);
  }
  BOOST_TEST(depth_of_tree(6000, 4096, 3) <= 60u);
  BOOST_TEST(depth_of_tree(12'000, 4096, 3) <= 60u);
}

/// Counts how often a chunk's size is asked for: once for each chunk that a lookup compares with.
struct counting_geometry : geometry {
  static inline std::size_t asked = 0;
  std::size_t bytes_of(std::size_t n) const noexcept {
    ++asked;
    return geometry::bytes_of(n);
  }
};

/// The chunks that a table compares with, per lookup, if `n` small chunks lie in the granule of one that was there before.
std::size_t comparisons(std::size_t n) {
  using map_type = tarn::detail::chunk_index<chunk, counting_geometry>;
  const counting_geometry g;
  std::vector<chunk> all = spaced(n + 1, 64);
  all[n] = {reinterpret_cast<std::byte*>(std::uintptr_t{0x6666'0000'0000}), std::size_t{1} << 24};
  map_type map;
  std::vector<std::unique_ptr<std::byte[]>> tables;
  const auto insert = [&](chunk& c) {
    if (const std::size_t bytes = map.shortage(&c, g)) {
      tables.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
      map.supply({tables.back().get(), bytes}, g);
    }
    map.insert(c, g);
  };
  insert(all[n]);
  for (std::size_t i = 0; i != n; ++i) insert(all[i]);
  counting_geometry::asked = 0;
  for (chunk& c : all) BOOST_REQUIRE(map.find(c.first, g) == &c);
  for (const chunk& c : all) BOOST_REQUIRE(map.find(c.first - 1, g) == (&c == all.data() || &c == &all[n] ? nullptr : &c - 1));
  const std::size_t found = counting_geometry::asked / (2 * all.size());
  std::size_t brought = 0;
  for (chunk& c : all) {
    const chunk* const guess = map.guess(c.first, g);
    {
      const auto in_front = map.bring_in_front(c.first, g);
      BOOST_REQUIRE(static_cast<bool>(in_front) == (guess != &c));
      BOOST_REQUIRE(map.guess(c.first, g) == &c);
      brought += guess != &c;
    }
    BOOST_REQUIRE(map.guess(c.first, g) == guess);
  }
  BOOST_TEST(brought > n / 2);
  for (std::size_t i = 0; i < all.size(); i += 2) map.take_out(all[i], g);  // and those that stay are still found
  for (std::size_t i = 0; i != all.size(); ++i) BOOST_REQUIRE((map.find(all[i].first, g) == &all[i]) == (i % 2 == 1));
  return found;
}

BOOST_AUTO_TEST_CASE(a_lookup_compares_with_few_chunks_even_if_all_lie_in_one_granule) {
  BOOST_TEST(comparisons(1000) <= 64u);
  BOOST_TEST(comparisons(2000) <= 64u);
}

/// Counts how often a chunk's size is asked for, as often as one is entered into a table or looked for there.
struct entering_geometry : geometry {
  static inline std::size_t asked = 0;
  std::size_t extent(std::size_t n) const noexcept { return ++asked, geometry::extent(n); }
};

/// Whether the table has what is looked for, so that nobody asks the tree.
template <class Map>
bool is_near(Map& map, const chunk& c, const chunk* expected) {
  entering_geometry::asked = 0;
  return map.find(c.first, entering_geometry{}) == expected && entering_geometry::asked == 0;
}

/// A map with memory for its tables, of which it knows how much was written for the first time.
class watched_index {
 public:
  using map_type = tarn::detail::chunk_index<chunk, entering_geometry>;
  static constexpr std::byte untouched{0xA5};
  map_type map;
  const entering_geometry g{};
  std::size_t most_entered = 0;  // with one chunk
  std::size_t most_cleared = 0;  // bytes, with one chunk
  bool refuses = false;

  void insert(chunk& c) {
    entering_geometry::asked = 0;
    c.next = nullptr;
    while (const std::size_t bytes = map.shortage(&c, g)) {
      if (refuses) break;
      tables_.emplace_back(bytes, untouched);
      seen_ = 0;
      map.supply({tables_.back().data(), bytes}, g);
    }
    map.insert(c, g);
    most_entered = std::max(most_entered, entering_geometry::asked);
    if (tables_.empty()) return;
    const std::size_t before = seen_;
    while (seen_ != tables_.back().size() && tables_.back()[seen_] != untouched) seen_ += 16;
    most_cleared = std::max(most_cleared, seen_ - before);
  }
  std::size_t tables() const { return tables_.size(); }

 private:
  std::vector<std::vector<std::byte>> tables_;
  std::size_t seen_ = 0;  // bytes of the last
};

/// Of `n` chunks, how many the table has no room for near their places.
std::size_t far_from_home(std::size_t n, std::uint64_t stride) {
  std::vector<chunk> all = spaced(n, stride);
  watched_index its;
  for (chunk& c : all) its.insert(c);
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [&](const chunk& c) { return !is_near(its.map, c, &c); }));
}

BOOST_AUTO_TEST_CASE(the_table_has_chunks_near_their_places_whatever_lies_between_them) {
  for (unsigned shift = 12; shift != 35; ++shift) {
    const std::uint64_t stride = std::uint64_t{1} << shift;
    BOOST_TEST(far_from_home(2000, stride) == 0u, shift);
    BOOST_TEST(far_from_home(4000, stride) == 0u, shift);
    BOOST_TEST(far_from_home(4000, 3 * stride) == 0u, shift);
  }
}

/// Of `n` chunks of `blocks(i)`, one behind the other, the blocks for which the guess is wrong, in ten thousand.
std::size_t wrongly_guessed(std::size_t n, auto blocks) {
  std::vector<chunk> all;
  std::byte* at = reinterpret_cast<std::byte*>(std::uintptr_t{0x5555'0000'0840});
  for (std::size_t i = 0; i != n; at += all[i++].blocks * 64) all.push_back({at, blocks(i)});
  watched_index its;
  for (chunk& c : all) its.insert(c);
  std::size_t looked_up = 0;
  std::size_t wrong = 0;
  for (const chunk& c : all)
    for (std::size_t i = 0; i < c.blocks; i += 1 + c.blocks / 1000) {
      const std::size_t stands_for = std::min(1 + c.blocks / 1000, c.blocks - i);
      looked_up += stands_for;
      wrong += its.map.guess(c.first + i * 64, its.g) == &c ? 0 : stands_for;
      BOOST_REQUIRE(its.map.find(c.first + i * 64, its.g) == &c);
    }
  return wrong * 10'000 / looked_up;
}
// Elsewhere the call comes again, and takes several times as long. Where three chunks touch a granule, one is wrong.
BOOST_AUTO_TEST_CASE(a_hit_guesses_the_chunk) {
  for (const std::size_t n : {1u, 2u, 10u, 100u, 1000u, 10'000u}) {
    const std::size_t most = n < 10'000 ? 300 : 2700;  // a table that is nearly half full
    for (const std::size_t blocks : {64u, 100u, 1000u})
      BOOST_TEST(wrongly_guessed(n, [=](std::size_t) { return blocks; }) <= most, n << " of " << blocks);
    BOOST_TEST(wrongly_guessed(n, [](std::size_t i) { return 60 + i * 37 % 1000; }) <= most, n);
  }
  for (std::size_t n = 1; n != 16; ++n)
    BOOST_TEST(wrongly_guessed(n, [](std::size_t i) { return std::size_t{64} << i; }) <= 330u, n);  // as pools grow
}
BOOST_AUTO_TEST_CASE(a_guess_may_be_of_any_address) {
  const geometry g;
  index map;
  const auto guess = [&](std::uintptr_t address) { return map.guess(reinterpret_cast<const void*>(address), g); };
  for (const std::uintptr_t address : {std::uintptr_t{0}, std::uintptr_t{1}, ~std::uintptr_t{0}})
    BOOST_TEST(guess(address) == nullptr);
  std::vector<chunk> all = spaced(1, 4096);
  map.insert(all[0], g);
  for (std::uintptr_t address = 0; address < 1u << 20; address += 64) {
    const chunk* const c = guess(address);
    BOOST_REQUIRE((c == nullptr || c == &all[0]));
  }
}

/// Of `n` chunks of `blocks`, `stride` apart, with a chunk a thousand times as large in their midst.
void expect_few_steps(std::size_t n, std::uint64_t stride, std::size_t refused_from, std::size_t refused_to) {
  std::vector<chunk> all = spaced(n, stride);
  all[n * 2 / 3] = {reinterpret_cast<std::byte*>(std::uintptr_t{0x6666'0000'0000}), std::size_t{1} << 24};
  watched_index its;
  for (std::size_t i = 0; i != n; ++i) {
    its.refuses = refused_from <= i && i < refused_to;
    its.insert(all[i]);
    BOOST_REQUIRE(its.map.find(all[i].first, its.g) == &all[i]);
    BOOST_REQUIRE(its.map.find(all[i / 2].first, its.g) == &all[i / 2]);
  }
  BOOST_TEST(its.most_entered <= 700u, n << ", " << stride << ": " << its.most_entered);
  BOOST_TEST(its.most_cleared <= 2000u * 16, n << ", " << stride << ": " << its.most_cleared);
  BOOST_TEST(its.tables() <= 16u);
  for (chunk& c : all) BOOST_REQUIRE(its.map.find(c.first, its.g) == &c);
  if (refused_to == 0) BOOST_TEST(is_near(its.map, all[n * 2 / 3], &all[n * 2 / 3]));
}

BOOST_AUTO_TEST_CASE(a_chunk_comes_in_few_steps_however_many_there_are) {
  for (const std::size_t n : {4000u, 8000u})
    for (const std::uint64_t stride : {1u << 10, 1u << 14, 1u << 16, 1u << 21}) {
      expect_few_steps(n, stride, 0, 0);
      expect_few_steps(n, stride, 700, n / 2);  // and where the store had nothing for long
    }
}

BOOST_AUTO_TEST_CASE(chunks_come_and_go_while_a_larger_table_is_made) {
  std::vector<chunk> all = spaced(12'000, 20'480);
  std::vector<bool> in(all.size());
  std::mt19937 random(5);
  watched_index its;
  for (std::size_t step = 0; step != 30'000; ++step) {
    const std::size_t i = random() % all.size();
    if (in[i]) its.map.take_out(all[i], its.g);
    else its.insert(all[i]);
    in[i] = !in[i];
    const std::size_t k = random() % all.size();
    BOOST_REQUIRE((its.map.find(all[k].first, its.g) == &all[k]) == in[k]);
    if (step % 7000 == 0)
      for (std::size_t at = 0; at != all.size(); ++at)
        BOOST_REQUIRE(is_near(its.map, all[at], in[at] ? &all[at] : nullptr));
  }
  BOOST_TEST(its.tables() >= 4u);
  std::size_t taken = 0;
  for (chunk* c = its.map.take_all(); c != nullptr; c = c->next) ++taken;
  BOOST_TEST(taken == static_cast<std::size_t>(std::count(in.begin(), in.end(), true)));
  for (chunk& c : all) BOOST_REQUIRE(its.map.find(c.first, its.g) == nullptr);
}

// ---- lock_free's numbers: the same questions -------------------------------------------------------------------------------

/// An atomic word that counts the steps of block_numbers.
struct steps {
  static inline std::size_t loads = 0;
  static inline std::size_t stores = 0;
};
template <class T>
class counting_atomic {
 public:
  constexpr counting_atomic(T value = {}) noexcept : value_(value) {
    if (!std::is_constant_evaluated()) ++steps::stores;
  }
  T load(tarn::detail::memory_order) const noexcept { return ++steps::loads, value_; }
  void store(T value, tarn::detail::memory_order) noexcept { ++steps::stores, value_ = value; }

 private:
  T value_;
};
struct numbered : tarn::detail::numbered_column<counting_atomic> {
  std::byte* first = nullptr;
  std::size_t blocks = 0;
  numbered* next = nullptr;
};

/// With the memory that the pool would get for it. No address is ever followed.
struct numbers : tarn::detail::block_numbers<numbered, geometry, counting_atomic> {
  std::vector<std::unique_ptr<std::byte[]>> tables;
  std::vector<std::unique_ptr<numbered>> all;
  std::uint64_t seldom_refused = 0;  // every so many requests the store has something; 0: always
  std::size_t asked = 0;
  std::size_t went_without = 0;
  std::size_t most_steps = 0;  // for one chunk

  /// As top_up() does. Returns whether the chunk was added.
  bool add(std::uintptr_t first, std::size_t blocks) {
    all.push_back(std::make_unique<numbered>());
    numbered& c = *all.back();
    c.first = reinterpret_cast<std::byte*>(first);
    c.blocks = blocks;
    steps::stores = 0;
    while (const std::size_t bytes = shortage(&c, geometry{})) {
      const bool refused = seldom_refused != 0 && ++asked % seldom_refused != 0;
      if (!refused) tables.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
      supply(refused ? tarn::detail::memory{} : tarn::detail::memory{tables.back().get(), bytes}, geometry{});
      if (refused && shortage(&c, geometry{}) != 0) return all.pop_back(), false;
      if (refused) {
        ++went_without;
        break;
      }
    }
    block_numbers::add(c, geometry{});
    most_steps = std::max(most_steps, steps::stores);
    return true;
  }
  /// Looks every chunk up, by its first block and by its last, and by its numbers. Returns the most loads that a lookup took.
  std::size_t look_up(tarn::test::called_from = {}) {
    std::size_t most = 0;
    for (const auto& c : all)
      for (const std::size_t slot : {std::size_t{0}, c->blocks - 1}) {
        steps::loads = 0;
        BOOST_REQUIRE(&chunk_at(c->first + slot * 64, geometry{}) == c.get());
        most = std::max(most, steps::loads);
        BOOST_REQUIRE(&chunk_of(static_cast<std::uint32_t>(c->base + slot + 1)) == c.get());
      }
    return most;
  }
};

constexpr std::uintptr_t somewhere = 0x5555'0000'0000;
constexpr std::uintptr_t far_away = 0x6666'0000'0000;

/// The most loads and stores: of a large chunk and `n` of `blocks`, `stride` apart.
std::pair<std::size_t, std::size_t> of_small_after_large(std::size_t n, std::size_t blocks, std::uint64_t stride) {
  numbers its;
  BOOST_REQUIRE(its.add(far_away, std::size_t{1} << 24));
  its.most_steps = 0;  // but for those, one for each 4096 blocks
  for (std::size_t i = 0; i != n; ++i) BOOST_REQUIRE(its.add(somewhere + i * stride, blocks));
  return {its.look_up(), its.most_steps};
}

BOOST_AUTO_TEST_CASE(a_block_has_its_number_after_few_steps_whatever_chunks_there_are) {
  for (const std::uint64_t stride : all_strides(64)) {
    if (stride < 1024) continue;  // 16 blocks
    for (const std::size_t n : {2000u, 4000u}) {
      const auto [loads, stores] = of_small_after_large(n, 16, stride);
      BOOST_TEST(loads <= 100u, stride << ", " << n << ": " << loads);
      BOOST_TEST(stores <= 800u, stride << ", " << n << ": " << stores);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_block_has_its_number_after_few_steps_in_chunks_of_all_sizes) {
  for (const std::size_t rounds : {100u, 200u}) {
    numbers its;
    std::uintptr_t at = somewhere;
    std::size_t blocks = 1;
    for (std::size_t i = 0; i != rounds * 13; ++i, blocks = blocks < 4000 ? 2 * blocks : 1) {
      BOOST_REQUIRE(its.add(at, blocks));
      at += blocks * 64 + i % 3 * 64;
    }
    BOOST_TEST(its.look_up() <= 100u);
    BOOST_TEST(its.most_steps <= 800u);
  }
}

BOOST_AUTO_TEST_CASE(a_table_that_the_store_refuses_for_long_loses_no_number) {
  for (const std::uint64_t seldom : {2u, 7u, 1000u}) {
    numbers its;
    std::size_t added = 0;
    BOOST_REQUIRE(its.add(somewhere, 16));
    its.seldom_refused = seldom;
    for (std::size_t i = 1; i != 6000; ++i) added += its.add(somewhere + i * 4096, 16) ? 1 : 0;
    BOOST_TEST(added > 200u);
    BOOST_TEST(its.went_without != 0u);
    BOOST_TEST(its.look_up() <= 100u);
  }
}

}  // namespace

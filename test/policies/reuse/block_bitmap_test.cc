// Where a chunk's free blocks are: its bitmap, the pages of it that have some, and the shelves of chunks by how full they are.
// Each against a container of std.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <list>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "tarn/policies/reuse/block_bitmap.h"

namespace {

using block_bitmap = tarn::detail::block_bitmap<>;

struct bitmap_of {
  bitmap_of(std::size_t n, std::size_t page_words)
      : blocks(n), memory(block_bitmap::bytes(n, page_words) / 8 + 2, ~std::uint64_t{0}) {
    bits.open(reinterpret_cast<std::byte*>(memory.data() + 1), n, page_words);
  }
  void mark(std::size_t block) { bits.mark(block / 64, std::uint64_t{1} << block % 64, 1); }
  bool intact() const { return memory.front() == ~std::uint64_t{0} && memory.back() == ~std::uint64_t{0}; }

  std::size_t blocks;
  std::vector<std::uint64_t> memory;  // with a word before it and one behind it that nobody may write
  block_bitmap bits;
};

BOOST_AUTO_TEST_CASE(it_agrees_with_a_set) {
  std::size_t taken = 0;
  for (const std::size_t blocks : {1u, 63u, 64u, 65u, 4096u, 5000u, 300'000u}) {
    for (const std::size_t page_words : {1u, 2u, 16u, 64u}) {
      bitmap_of map(blocks, page_words);
      std::set<std::size_t> model;
      std::mt19937 random(static_cast<unsigned>(blocks + page_words));
      for (int round = 0; round < 60; ++round) {
        for (std::size_t n = random() % (blocks + 1); n != 0 && n % 4099 != 0; --n) {
          const std::size_t block = random() % blocks;
          if (model.insert(block).second) map.mark(block);
        }
        BOOST_REQUIRE(map.bits.free_blocks() == model.size());
        const std::size_t wanted = random() % (2 * blocks);
        const std::size_t expected = std::min(wanted, model.size());
        std::size_t got = 0;
        const std::size_t answer = map.bits.take(wanted, [&](std::size_t block) {
          BOOST_REQUIRE(model.erase(block) == 1u);
          ++got;
        });
        BOOST_REQUIRE(answer == expected);
        BOOST_REQUIRE(got == expected);
        taken += got;
      }
      BOOST_TEST(map.intact());
    }
  }
  std::printf("%zu blocks taken\n", taken);
  BOOST_TEST(taken > 100'000u);
}

BOOST_AUTO_TEST_CASE(a_page_is_used_up_before_others) {
  bitmap_of map(1024, 2);  // pages of 128 blocks
  for (std::size_t block = 300; block != 900; block += 3) map.mark(block);
  std::size_t last = 0;
  map.bits.take(10, [&](std::size_t block) { last = block; });
  map.mark(5);  // a lower page, later
  std::set<std::size_t> pages;
  map.bits.take(15, [&](std::size_t block) {
    BOOST_TEST(block > last);
    last = block;
    pages.insert(block / 128);
  });
  BOOST_TEST(pages == (std::set<std::size_t>{2}), boost::test_tools::per_element());
  map.bits.take(200, [&](std::size_t block) { pages.insert(block / 128); });
  BOOST_TEST(pages == (std::set<std::size_t>{0, 2, 3, 4, 5, 6, 7}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(forgotten_it_is_as_new) {
  bitmap_of map(1000, 4);
  for (std::size_t block = 0; block != 1000; ++block) map.mark(block);
  map.bits.forget();
  BOOST_TEST(map.bits.free_blocks() == 0u);
  map.mark(777);
  std::vector<std::size_t> all;
  map.bits.take(1000, [&](std::size_t block) { all.push_back(block); });
  BOOST_TEST(all == (std::vector<std::size_t>{777}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(overwritten_it_names_no_block_of_a_word_that_was_not_used_yet) {
  bitmap_of map(4096, 64);
  map.mark(3);
  map.memory[1] = 0;                                   // the only word that was used
  map.memory[1 + 4096 / 64 + 1] = ~std::uint64_t{0};  // its page, behind all words
  std::size_t named = 0;
  map.bits.take(64, [&](std::size_t) { ++named; });
  BOOST_TEST(named == 0u);
  BOOST_TEST(map.bits.free_blocks() == 0u);
}

// ---- pages with free blocks -------------------------------------------------------------------------------------------------

struct counted_word {
  static inline std::size_t uses = 0;
  std::uint64_t value = 0xAAAA'AAAA'AAAA'AAAA;  // until it is prepared

  counted_word& operator=(std::uint64_t v) noexcept {
    ++uses;
    value = v;
    return *this;
  }
  operator std::uint64_t() const noexcept {
    ++uses;
    return value;
  }
};
using page_set = tarn::detail::page_set<counted_word>;

struct set_of {
  explicit set_of(std::size_t limit) : words(page_set::words(limit) + 2) { set.open(&words[1], limit); }
  bool intact() const { return words.front().value == counted_word{}.value && words.back().value == counted_word{}.value; }
  std::vector<counted_word> words;  // with one before and one behind that nobody may write
  page_set set;
};

BOOST_AUTO_TEST_CASE(pages_agree_with_a_set) {
  for (const std::size_t limit : {1u, 2u, 63u, 64u, 65u, 4095u, 4096u, 4097u, 262'144u, 262'145u, 300'000u}) {
    set_of own(limit);
    std::set<std::size_t> model;
    std::mt19937 random(static_cast<unsigned>(limit));
    std::size_t prepared = 0;
    BOOST_REQUIRE(own.set.lowest(prepared) == page_set::none);
    for (int step = 0; step != 3000; ++step) {
      const std::size_t number = random() % limit;
      if (number >= prepared && (random() % 8 == 0 || prepared == 0))
        while (prepared <= number) own.set.prepare(prepared++);
      if (number < prepared && random() % 2 == 0) {
        own.set.insert(number);
        model.insert(number);
      } else if (!model.empty()) {
        const std::size_t gone = random() % 2 == 0 ? *model.begin() : *model.rbegin();
        own.set.take_out(gone);
        model.erase(gone);
      }
      BOOST_REQUIRE(own.set.lowest(prepared) == (model.empty() ? page_set::none : *model.begin()));
    }
    BOOST_TEST(own.intact());
  }
}

BOOST_AUTO_TEST_CASE(overwritten_pages_go_nowhere_else) {
  constexpr std::size_t limit = 300'000;
  constexpr std::size_t prepared = 70'000;
  set_of own(limit);
  for (std::size_t i = 0; i != prepared; ++i) own.set.prepare(i);
  std::mt19937_64 random(9);
  for (int round = 0; round != 1000; ++round) {
    for (std::size_t i = 1; i + 1 != own.words.size(); ++i) own.words[i].value = random() & random() & random();
    const std::size_t found = own.set.lowest(prepared);
    BOOST_REQUIRE((found == page_set::none || found < prepared));
  }
}

/// Words that are used for each number, at most, if the lowest of few goes and comes, and the next one is far away.
std::size_t steps(std::size_t limit) {
  set_of own(limit);
  for (std::size_t i = 0; i != limit; ++i) own.set.prepare(i);
  own.set.insert(limit - 1);
  std::size_t most = 0;
  for (const std::size_t number : {std::size_t{0}, limit / 2, std::size_t{70}, limit - 2}) {
    counted_word::uses = 0;
    own.set.insert(number);
    BOOST_TEST(own.set.lowest(limit) == number);
    own.set.take_out(number);
    BOOST_TEST(own.set.lowest(limit) == limit - 1);
    most = std::max(most, counted_word::uses);
  }
  return most;
}
BOOST_AUTO_TEST_CASE(the_lowest_page_is_found_in_as_many_steps_however_far_it_is) {
  BOOST_TEST(steps(500'000) <= 24u);
  BOOST_TEST(steps(1'000'000) <= 24u);
}

// ---- shelves ----------------------------------------------------------------------------------------------------------------

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

BOOST_AUTO_TEST_CASE(shelves_agree_with_a_map_of_lists) {
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

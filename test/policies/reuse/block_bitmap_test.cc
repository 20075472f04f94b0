// The bitmap of a chunk's free blocks, against a set.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
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

}  // namespace

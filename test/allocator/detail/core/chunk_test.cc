// What a chunk consists of: its bits beside a set, the line of bytes in front of its record, and the list of chunks to carve.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "tarn/allocator/detail/core/chunk.h"
#include "tarn/test/support/check.h"

namespace {

struct chunk;
/// A link that counts how often it is read.
struct counted_link {
  static inline std::size_t reads = 0;
  chunk* to = nullptr;

  counted_link& operator=(chunk* c) noexcept {
    to = c;
    return *this;
  }
  operator chunk*() const noexcept {
    ++reads;
    return to;
  }
  chunk* operator->() const noexcept { return *this; }
};
struct chunk {
  counted_link next;
  counted_link* link_to_it = nullptr;
  std::size_t carved = 0;
};
using list = tarn::detail::carving_list<chunk, counted_link>;

std::vector<const chunk*> content(const list& l) {
  std::vector<const chunk*> all;
  for (const chunk* c = l.first(); c != nullptr; c = c->next) all.push_back(c);
  return all;
}

BOOST_AUTO_TEST_CASE(the_newest_is_first_and_any_can_go) {
  std::vector<chunk> chunks(5);
  list l;
  BOOST_TEST(l.first() == nullptr);
  for (chunk& c : chunks) l.push(c);
  const chunk* const c = chunks.data();
  BOOST_TEST(content(l) == (std::vector{c + 4, c + 3, c + 2, c + 1, c}), boost::test_tools::per_element());
  l.remove(chunks[2]);
  l.remove(chunks[4]);
  l.remove(chunks[0]);
  BOOST_TEST(content(l) == (std::vector{c + 3, c + 1}), boost::test_tools::per_element());
  l.push(chunks[2]);
  l.remove(chunks[3]);
  BOOST_TEST(content(l) == (std::vector{c + 2, c + 1}), boost::test_tools::per_element());
  l.forget();
  BOOST_TEST(l.first() == nullptr);
}

BOOST_AUTO_TEST_CASE(one_that_was_used_stays_first) {
  std::vector<chunk> chunks(4);
  list l;
  BOOST_TEST(!l.has_untouched());
  for (std::size_t i = 0; i != 3; ++i) {
    l.push(chunks[i]);
    chunks[i].carved = i == 0 ? 1 : 0;
    BOOST_TEST(l.has_untouched() == (i != 0));
  }
  const chunk* const c = chunks.data();
  BOOST_TEST(content(l) == (std::vector{c, c + 2, c + 1}), boost::test_tools::per_element());
  chunks[3].carved = 1;  // one that comes back
  l.push(chunks[3]);
  BOOST_TEST(content(l) == (std::vector{c + 3, c, c + 2, c + 1}), boost::test_tools::per_element());
  for (const std::size_t i : {3u, 2u, 1u}) l.remove(chunks[i]);
  BOOST_TEST(content(l) == std::vector{c}, boost::test_tools::per_element());
  BOOST_TEST(!l.has_untouched());
}

/// Links that are read while all chunks go, the oldest first.
std::size_t steps(std::size_t n) {
  std::vector<chunk> chunks(n);
  list l;
  for (chunk& c : chunks) l.push(c);
  counted_link::reads = 0;
  for (chunk& c : chunks) l.remove(c);
  BOOST_TEST(l.first() == nullptr);
  return counted_link::reads;
}
BOOST_AUTO_TEST_CASE(a_chunk_goes_in_as_many_steps_whatever_their_number) {
  BOOST_TEST(steps(1000) <= 4000u);
  BOOST_TEST(steps(2000) <= 8000u);
}

// ---- the line in front of the record: each byte counts, and those of another place don't pass ---------------------------

using tarn::detail::red_line;
using line = std::array<std::byte, red_line::bytes>;

BOOST_AUTO_TEST_CASE(it_stands_until_any_byte_is_written) {
  line one{};
  BOOST_TEST(!red_line::stands(one.data()));
  red_line::draw(one.data());
  BOOST_TEST(red_line::stands(one.data()));
  for (std::byte& byte : one) {
    byte ^= std::byte{1};
    BOOST_TEST(!red_line::stands(one.data()));
    byte ^= std::byte{1};
  }
  BOOST_TEST(red_line::stands(one.data()));
}

BOOST_AUTO_TEST_CASE(a_copy_of_another_one_does_not_stand) {
  std::array<line, 2> lines;
  for (line& one : lines) red_line::draw(one.data());
  lines[0] = lines[1];
  BOOST_TEST(!red_line::stands(lines[0].data()));
  BOOST_TEST(red_line::stands(lines[1].data()));
}

BOOST_AUTO_TEST_CASE(who_knows_one_word_of_it_does_not_know_the_others) {
  line one;
  red_line::draw(one.data());
  std::set<std::uint64_t> words;
  for (std::size_t i = 0; i != one.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, one.data() + i, sizeof word);
    words.insert(word);
  }
  BOOST_TEST(words.size() == red_line::bytes / sizeof(std::uint64_t));
}

// ---- the bits -----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(blocks_leave_in_ascending_order_whatever_came_meanwhile) {
  for (const std::size_t blocks : {1u, 63u, 64u, 65u, 1000u}) {
    std::vector<std::uint64_t> memory(tarn::detail::free_bits::bytes(blocks) / 8, ~std::uint64_t{0});  // it clears them
    tarn::detail::free_bits bits;
    bits.open(reinterpret_cast<std::byte*>(memory.data()));
    std::set<std::size_t> free;
    std::mt19937 random(7);
    for (int round = 0; round != 2000; ++round) {
      for (std::size_t n = random() % 9; n != 0; --n) {
        const std::size_t block = random() % blocks;
        if (!free.insert(block).second) continue;
        bits.mark(block / 64, std::uint64_t{1} << block % 64, 1);
      }
      REQUIRE(bits.free_blocks() == free.size());
      const std::size_t asked = random() % 9;
      bits.take(random() % 4 == 0 ? asked : 0, [&](std::size_t block) {
        REQUIRE(!free.empty() && *free.begin() == block);
        free.erase(free.begin());
      });
      REQUIRE(bits.free_blocks() == free.size());
      for (const std::size_t block : {std::size_t{0}, blocks / 2, blocks - 1})
        REQUIRE(bits.is_free(block) == free.contains(block));
      if (round % 500 == 0) bits.forget(), free.clear();
    }
  }
}

}  // namespace

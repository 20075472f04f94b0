// The bytes in front of a chunk's record: each of them counts, and those of another place don't pass.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>

#include "tarn/allocator/detail/core/chunk.h"

namespace {

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

}  // namespace

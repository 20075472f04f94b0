// The set of pages with free blocks, against a std::set; and how many words it reads and writes.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "tarn/policies/reuse/block_bitmap.h"

namespace {

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

BOOST_AUTO_TEST_CASE(it_agrees_with_a_set) {
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

BOOST_AUTO_TEST_CASE(overwritten_it_goes_nowhere_else) {
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
BOOST_AUTO_TEST_CASE(the_lowest_is_found_in_as_many_steps_however_far_it_is) {
  BOOST_TEST(steps(500'000) <= 24u);
  BOOST_TEST(steps(1'000'000) <= 24u);
}

}  // namespace

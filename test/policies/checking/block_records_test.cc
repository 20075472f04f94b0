// What a checking policy knows of each block, alone: records are made as blocks are first handed out, in memory that nobody
// cleared.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include "tarn/policies/checking/block_checks.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/size.h"
#include "tarn/test/support/check.h"

namespace {

using tarn::detail::block_records;
using tarn::detail::generation_mark;
using tarn::detail::life_record;
using tarn::detail::live_mark;
constexpr tarn::detail::geometry<tarn::static_size<64>, tarn::detail::block_shape{16, 8}> geometry;
constexpr std::byte nobodys{0xEE};

/// A column of `blocks` records, and some bytes behind it.
template <class Record>
struct column : block_records<Record> {
  explicit column(std::size_t blocks)
      : bytes(block_records<Record>::column_bytes(blocks, geometry)),
        memory((bytes + 64) / sizeof(std::uint64_t) + 1, 0xEEEEEEEEEEEEEEEEu) {
    this->open(start(), blocks, geometry);
  }
  std::byte* start() { return reinterpret_cast<std::byte*>(memory.data()); }
  bool is_untouched_from(std::size_t byte) {
    for (std::size_t i = byte; i != memory.size() * sizeof(std::uint64_t); ++i)
      if (start()[i] != nobodys) return false;
    return true;
  }

  std::size_t bytes;
  std::vector<std::uint64_t> memory;
};

template <class Record>
void check_column(tarn::test::called_from = {}) {
  for (const std::size_t blocks : {1u, 2u, 63u, 64u, 65u, 1000u}) {
    column<Record> c(blocks);
    BOOST_TEST(c.bytes == blocks * sizeof(Record));
    BOOST_TEST(c.is_untouched_from(0));  // a chunk of a million blocks costs what one costs
    BOOST_TEST(c.ready() == 0u);
    std::uint64_t sequence = 0;
    for (std::size_t i = 0; i != blocks; ++i) {
      BOOST_TEST(c.find(i) == nullptr);
      BOOST_TEST(!c.in_use(i));
      BOOST_TEST(!c.get(i).in_use());
      BOOST_TEST(!c.get(i).was_handed_out());
      BOOST_TEST(c.ready() == i + 1);
      BOOST_TEST(c.find(i) == &c.get(i));
      c.get(i).take(sequence);
      BOOST_TEST(c.in_use(i));
      BOOST_TEST(c.is_untouched_from((i + 1) * sizeof(Record)));
    }
    for (std::size_t i = 0; i < blocks; i += 3) c.get(i).give(sequence);
    for (std::size_t i = 0; i != blocks; ++i) {
      BOOST_TEST(c.in_use(i) == (i % 3 != 0));
      BOOST_TEST(c.get(i).was_handed_out());
    }
    c.get(0).take(sequence);
    BOOST_TEST(c.in_use(0));
    BOOST_TEST(c.ready() == blocks);
  }
}
BOOST_AUTO_TEST_CASE(a_record_for_each_block) {
  check_column<live_mark>();
  check_column<generation_mark>();
  check_column<life_record>();
}

template <class Record>
void check_that_order_makes_no_difference(tarn::test::called_from = {}) {
  column<Record> c(100);
  std::uint64_t sequence = 0;
  c.get(40).take(sequence);  // those before it were never handed out
  BOOST_TEST(c.ready() == 41u);
  for (std::size_t i = 0; i != 100; ++i) BOOST_TEST(c.in_use(i) == (i == 40));
  for (std::size_t i = 0; i != 40; ++i) BOOST_TEST(!c.get(i).was_handed_out());
  BOOST_TEST(c.find(41) == nullptr);
  BOOST_TEST(!c.in_use(tarn::detail::size_max));
  BOOST_TEST(c.find(tarn::detail::size_max) == nullptr);
  c.open(c.start(), 100, geometry);  // the chunk's memory is used again
  for (std::size_t i = 0; i != 100; ++i) BOOST_TEST(!c.in_use(i));
  BOOST_TEST(!c.get(40).was_handed_out());
}
BOOST_AUTO_TEST_CASE(blocks_come_in_any_order) {
  check_that_order_makes_no_difference<live_mark>();
  check_that_order_makes_no_difference<generation_mark>();
  check_that_order_makes_no_difference<life_record>();
}

BOOST_AUTO_TEST_CASE(columns_are_as_small_as_they_are_said_to_be) {
  static_assert(sizeof(live_mark) == 1 && sizeof(generation_mark) == 4 && sizeof(life_record) == 32);
  using tarn::detail::size_max;
  BOOST_TEST(block_records<life_record>::column_bytes(size_max, geometry) == size_max);  // no wrap
  BOOST_TEST(block_records<life_record>::column_bytes(size_max / 32 + 1, geometry) == size_max);
}

BOOST_AUTO_TEST_CASE(a_life_says_which_operation_and_whose) {
  life_record one{};
  life_record other{};
  std::uint64_t sequence = 6;
  tarn::misuse what;
  one.describe(what);
  BOOST_TEST((what.allocated == 0u && what.freed == 0u));
  one.take(sequence);
  other.take(sequence);
  std::uint64_t there = 0;
  std::thread([&] {
    there = tarn::detail::this_thread_number();
    one.give(sequence);
  }).join();
  one.describe(what);
  BOOST_TEST(what.allocated == 7u);
  BOOST_TEST(what.freed == 9u);
  BOOST_TEST(what.allocated_by == tarn::detail::this_thread_number());
  BOOST_TEST(what.freed_by == there);
  BOOST_TEST(there != tarn::detail::this_thread_number());
  other.describe(what);
  BOOST_TEST((what.allocated == 8u && what.freed == 0u && what.freed_by == 0u));
  one.take(sequence);
  BOOST_TEST(one.in_use());
  one.describe(what);
  BOOST_TEST((what.allocated == 10u && what.freed == 0u && what.freed_by == 0u));  // the free was of the use before
}

/// No use of a block has the number of another, and none is 0. A chunk that goes back to the store and comes again counts anew,
/// but its generations don't begin anew.
template <class Record>
void check_generations_of_a_place(tarn::test::called_from = {}) {
  column<Record> c(2);
  std::uint64_t sequence = 0;
  std::set<std::uint64_t> seen = {0};
  for (int chunk = 0; chunk != 20; ++chunk) {
    c.open(c.start(), 2, geometry);
    if (chunk % 3 == 0) sequence = 0;  // another pool's
    for (int i = 0; i != 100; ++i) {
      c.get(1).take(sequence);
      BOOST_TEST(seen.insert(c.generation(1)).second);
      BOOST_TEST(c.generation(1) == c.generation(1));
      c.get(1).give(sequence);
    }
  }
}
BOOST_AUTO_TEST_CASE(a_place_has_no_generation_twice) {
  check_generations_of_a_place<generation_mark>();
  check_generations_of_a_place<life_record>();
}

BOOST_AUTO_TEST_CASE(a_count_that_is_used_up_is_no_new_block) {
  std::uint64_t none = 0;
  generation_mark one{0xFFFF'FFFDu};  // in use
  one.give(none);
  one.take(none);
  BOOST_TEST(one.generation() == 0xFFFF'FFFFu);
  one.give(none);
  BOOST_TEST((one.was_handed_out() && !one.in_use()));
  one.take(none);
  BOOST_TEST((one.generation() == 3u && one.in_use()));
}

BOOST_AUTO_TEST_CASE(threads_have_numbers_of_their_own) {
  std::vector<std::uint64_t> numbers(50);
  const std::uint64_t mine = tarn::detail::this_thread_number();
  for (std::uint64_t& n : numbers) std::thread([&n] { n = tarn::detail::this_thread_number(); }).join();
  BOOST_TEST(mine == tarn::detail::this_thread_number());
  std::set<std::uint64_t> all(numbers.begin(), numbers.end());  // one after the other, yet no number comes again
  all.insert(mine);
  BOOST_TEST(all.size() == numbers.size() + 1);
  BOOST_TEST(!all.contains(0));
}

}  // namespace

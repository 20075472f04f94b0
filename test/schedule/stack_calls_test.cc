// stack_calls and block_numbers under every order that few preemptions make: blocks are carved by two threads at once, and
// found by their numbers, and numbers by blocks, while chunks are added and larger tables take the place of others.
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>

#include "tarn/test/schedule/explore.h"
#include "tarn/test/schedule/stack_calls_variants.h"
#include "tarn/test/schedule/stack_world.h"

namespace {

using namespace tarn::test;
namespace variants = tarn::detail::variants;

using small = stack_world<variants::small::types>;
using ahead = stack_world<variants::ahead::types>;
using as_it_is = stack_world<variants::as_it_is::types>;
using one_chunk = stack_world<variants::as_it_is::types, true>;
using narrow = stack_world<variants::small::types, false, std::uint32_t>;

struct scenario {
  const char* name;
  unsigned threads;
  unsigned preemptions;
  std::uint64_t at_least;
  stack_script script;
};

const scenario scenarios[] = {
    {"two carve", 2, 4, 45'000, {{"aa", "aa"}, 1, 4, 2, 1}},
    {"two carve all at once", 2, 4, 35'000, {{"ao", "aa"}, 1, 3, 32, 1}},
    {"three carve", 3, 3, 490'000, {{"aao", "ao", "a"}, 1, 5, 2, 1}},
    {"two carve and give back", 2, 3, 43'000, {{"aaoc", "aaca"}, 1, 4, 3, 1}},
};
const scenario growing[] = {
    {"two make room", 2, 3, 180'000, {{"aaa", "aaa"}, 3, 2, 2, 0}},
    {"blocks given back while a table grows", 2, 4, 29'000, {{"oo", "+"}, 3, 2, 2, 2, "aaa"}},
    {"blocks given back and taken while a table grows", 2, 4, 120'000, {{"coa", "+"}, 3, 2, 2, 2, "aaa"}},
    {"given back, taken, and a table that grows", 3, 3, 240'000, {{"oa", "ao", "+a"}, 3, 2, 2, 2, "aaa"}},
    {"a table that grows twice", 2, 3, 29'000, {{"oaoa", "+++"}, 6, 2, 2, 2, "aaa"}},
};

BOOST_AUTO_TEST_CASE(blocks_are_carved_once) {
  for (const scenario& s : scenarios) {
    expect_right<small>(s.name, s.threads, {s.preemptions + (nightly() ? 1 : 0)}, s.at_least, s.script);
    expect_right<one_chunk>(std::string(s.name) + ", one chunk", s.threads, {s.preemptions}, s.at_least / 5, s.script);
  }
}

BOOST_AUTO_TEST_CASE(blocks_are_found_while_tables_grow) {
  for (const scenario& s : growing)
    expect_right<small>(s.name, s.threads, {s.preemptions + (nightly() ? 1 : 0)}, s.at_least, s.script);
}

/// The seventh chunk begins a table, the eighth completes it.
BOOST_AUTO_TEST_CASE(blocks_are_found_while_a_table_is_made_for_later) {
  expect_right<ahead>("a table that is made for two chunks", 2, {2}, 1'000, stack_script{{"oa", "++"}, 8, 2, 2, 6, "aaa"});
}

BOOST_AUTO_TEST_CASE(a_narrow_stack_is_as_good) {
  const auto expect = [](const scenario& s) {
    if (s.threads == 2) expect_right<narrow>(std::string(s.name) + ", narrow", 2, {s.preemptions}, s.at_least, s.script);
  };
  for (const scenario& s : scenarios) expect(s);
  for (const scenario& s : growing) expect(s);
  expect_wrong<stack_world<variants::untagged::types, false, std::uint32_t>>(
      "untagged, narrow", 2, {2}, stack_script{{"aao", "aa"}, 1, 3, 3, 1, "an"});
}

BOOST_AUTO_TEST_CASE(the_header_as_it_is) {
  const stack_script script{{"oa", "+a"}, 17, 2, 2, 16, "aaa"};
  expect_right<as_it_is>("tables for 16 chunks grow", 2, {3}, 70'000, script);
}

BOOST_AUTO_TEST_CASE(loads_may_be_stale) {
  const bounds one_stale{2, 0, 1};
  expect_right<small>("two carve, stale loads", 2, one_stale, 1'300, stack_script{{"aa", "aa"}, 1, 4, 2, 1});
  expect_right<small>("a chain, stale loads", 2, one_stale, 2'500, stack_script{{"aac", "aa"}, 1, 4, 3, 1});
  expect_right<small>("a table grows, stale loads", 2, one_stale, 1'400, stack_script{{"coa", "+"}, 3, 2, 2, 2, "aaa"});
  expect_right<small>("two make room, stale loads", 2, one_stale, 2'500, stack_script{{"aa", "aa"}, 3, 1, 1, 0});
}

template <class Types>
void expect_found(const char* name, unsigned threads, const stack_script& script, const bounds& limits = {2}) {
  expect_wrong<stack_world<Types>>(name, threads, limits, script);
}

const stack_script carving{{"aaoc", "aaca"}, 1, 4, 3, 1};
const stack_script making_room{{"aa", "aa"}, 3, 1, 1, 0};
const stack_script table_grows{{"coa", "+"}, 3, 2, 2, 2, "aaa"};

BOOST_AUTO_TEST_CASE(orders_that_are_too_weak_are_found) {
  expect_found<variants::push_relaxed::types>("push relaxed", 2, carving);
  expect_found<variants::pop_relaxed::types>("pop relaxed", 2, carving);
  expect_found<variants::loaded_relaxed::types>("the first load of pop relaxed", 2, carving);
  expect_found<variants::loaded_again_relaxed::types>("the failed exchange of pop relaxed", 2, {{"a", "aa"}, 1, 4, 2, 1, "a"});
  expect_found<variants::table_published_relaxed::types>("a table published relaxed", 2, table_grows);
  expect_found<variants::nothing_more_relaxed::types>("that there is nothing more is loaded relaxed", 3,
                                                      {{"a", "a", "a"}, 1, 3, 3, 1}, {2, 0, 6});
  expect_found<variants::table_loaded_relaxed::types>("a table loaded relaxed", 2, table_grows);
}

/// Who has a block, or its number, knows what was entered before it was carved; and what is found on the way to a chunk was
/// entered before the chunk.
BOOST_AUTO_TEST_CASE(the_order_in_which_chunks_are_entered_is_no_matter) {
  const bounds limits{3, 0, 1};
  using relaxed = stack_world<variants::entered_relaxed::types>;
  expect_right<relaxed>("entered relaxed", 2, limits, 15'000, table_grows);
  expect_right<relaxed>("entered relaxed, two make room", 2, limits, 45'000, making_room);
}

BOOST_AUTO_TEST_CASE(mistakes_are_found) {
  expect_found<variants::batch_off_by_one::types>("a batch that is linked one short", 2, carving);
  expect_found<variants::last_of_batch_linked_first::types>("a batch whose first is linked to the stack", 2, carving);
  expect_found<variants::untagged::types>("untagged", 2, {{"aao", "aa"}, 1, 3, 3, 1, "an"});
  expect_found<variants::carved_without_guard::types>("carved without the guard", 2, carving);
  expect_found<variants::carried_without_guard::types>("carried to the stack without the guard", 2, {{"a", "a"}, 1, 2, 2, 1});
  expect_found<variants::nothing_more_too_early::types>("nothing more said too early", 2, {{"aa", "aa"}, 1, 4, 2, 1});
  expect_found<variants::chain_published_before_linked::types>("a chain on the stack before it is linked", 2, carving);
  expect_found<variants::first_pushed_too::types>("the block returned is on the stack too", 2, carving);
  expect_found<variants::table_published_before_filled::types>("a table seen before it is filled", 2, table_grows);
  expect_found<variants::runs_not_copied::types>("a larger table without chunks", 2, table_grows);
  expect_found<variants::places_not_copied::types>("a larger table without addresses", 2, table_grows);
  expect_found<variants::carved_before_numbered::types>("carved before it is numbered", 2, {{"aa", "+"}, 3, 2, 2, 2, "aaaa"});
}

}  // namespace

// magazine_calls, the depot and thread ids, under every order that few preemptions make; and the same with mistakes in them,
// each of which must be found. Magazines of two blocks but for one case, so that few operations meet in the depot.
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <type_traits>

#include "tarn/test/schedule/explore.h"
#include "tarn/test/schedule/magazine_calls_variants.h"
#include "tarn/test/schedule/magazine_world.h"

namespace {

using namespace tarn::test;
namespace variants = tarn::detail::variants;

using small = magazine_world<variants::small::types>;

struct scenario {
  const char* name;
  unsigned threads;
  unsigned preemptions;
  std::uint64_t at_least;
  magazine_script script;
};

const scenario scenarios[] = {
    // the depot
    {"one takes what another gives back", 2, 3, 55'000, {{"aaaaaa", "gggggg"}, 8, {"aaaaaapppppp"}}},
    {"one lays blocks down, one gives them back", 2, 3, 40'000, {{"aaaapppp", "gggg"}, 8, {"aaaaaaaapppp"}}},
    {"both give and take", 2, 3, 23'000, {{"aaaaooooaaaa", "aaaaooooaaaa"}, 8}},
    {"three give and take", 3, 2, 2'400, {{"aaoo", "ooaa", "aaoo"}, 8, {"", "aaaa", ""}}},
    // ends and beginnings
    {"an end and a beginning", 2, 6, 360, {{"aox", "aao"}, 6, {"aaaaoooo"}}},
    {"an end, a beginning and one more", 3, 2, 13'000, {{"aox", "ao", "aaaa"}, 6, {"aaaaoooo", "", "aa"}}},
    {"the core is empty: one ends, two scavenge", 3, 2, 5'600, {{"aa", "aox", "a"}, 6, {"aa", "aaaaoooo"}}},
    {"one scavenges, one inherits", 2, 4, 7'600, {{"aa", "aao"}, 6, {"aa", "", "aaaaoooox"}}},
    {"drained while one ends and one begins", 3, 3, 11'000, {{"d", "aox", "ao"}, 6, {"", "aaaaoooo"}}},
    {"two drain, one ends", 3, 3, 310'000, {{"aod", "aod", "oox"}, 6, {"", "", "aaaao"}}},
    {"given back after the end", 3, 3, 72'000, {{"oxoo", "ao", "aa"}, 6, {"aaaa"}}},
    {"taken after the end", 2, 3, 9'700, {{"aoxaoao", "aaaa"}, 6, {"aa"}}},
    {"one only frees and ends, one begins", 3, 3, 27'000, {{"aapp", "ggx", "ao"}, 6}},
    {"one frees, then takes, and ends", 2, 3, 3'800, {{"aapao", "gaox"}, 6}},
    {"first freed after the end", 2, 3, 570, {{"aappa", "xggo"}, 6}},
    // asked for blocks
    {"asked in use", 2, 3, 3'700, {{"dod", "aaoo"}, 6, {"aaaaoo", "aaaaoo"}}},
    {"both ask", 2, 2, 2'700, {{"daood", "daood"}, 8, {"aaaaoo", "aaaaoo"}}},
    {"asked at the end", 3, 2, 12'000, {{"d", "aox", "aaaa"}, 6, {"", "aaaaoooo"}}},
    {"asked, ended and inherited", 2, 3, 20'000, {{"aoao", "ddaa"}, 6, {"", "", "aaaaooood", ""}}},
    {"first taken after the end", 2, 3, 2'800, {{"xaoa", "aaaao"}, 6}},
    {"any three operations", 2, 2, 290'000, {{"???", "???"}, 6, {"aaaao", "aa"}}},
    {"any two operations, one ends", 3, 2, 170'000, {{"??", "??", "ox"}, 8, {"aaao", "aa", "aaa"}}},
    // what was supplied goes
    {"trimmed alone", 1, 0, 1, {{"aaooaootaaoot"}, 6, {}, 512, {}, 512}},
    {"trimmed while one begins", 2, 3, 5'000, {{"aot", "aao"}, 6, {}, 512, {}, 1024}},
    {"trimmed while one ends", 2, 3, 400, {{"t", "oox", "ao"}, 6, {"", "aa"}, 512, {}, 1024}},
    {"trimmed while one ends and one begins", 3, 2, 3'000, {{"ot", "oox", "ao"}, 6, {"a", "aa"}, 512, {}, 1024}},
    {"both trim", 2, 3, 70'000, {{"aotao", "aotao"}, 6, {}, 512, {}, 1024}},
    {"trimmed beside a further thread", 2, 3, 30'000, {{"aot", "aao"}, 8, {}, 2048, {}, 2048, 15}},
    // copies of tarn in shared libraries
    {"two domains begin", 2, 4, 41'000, {{"aaao", "aaao"}, 8, {}, 4096, {0, 1}}},
    {"a domain in another's pool", 3, 3, 25'000, {{"aoao", "aoao", "oox"}, 8, {"aa", "", "aaaa"}, 4096, {0, 1, 0}}},
    // further threads, whose slots come from the store
    {"two further threads", 2, 3, 7'200, {{"aao", "aao"}, 8, {}, 2048, {}, 0, 15}},
    {"a further thread ends", 3, 2, 18'000, {{"aaa", "ox", "aao"}, 8, {"aa", "aaaa"}, 2048, {}, 0, 15}},
    {"no memory for further threads", 2, 3, 30'000, {{"aao", "aao"}, 8, {}, 512, {}, 0, 15}},
    // magazines
    {"memory for one magazine", 2, 3, 51'000, {{"aaaooo", "aaaooo"}, 6, {}, 32}},
    {"memory that comes", 2, 3, 36'000, {{"aaaooo", "aaaooo"}, 6, {}, 32, {}, 1024}},
    {"no memory for magazines", 2, 3, 57'000, {{"aaooa", "aaooa"}, 4, {}, 0}},
};

BOOST_AUTO_TEST_CASE(blocks_magazines_and_numbers_are_in_one_place) {
  for (const scenario& s : scenarios)
    expect_right<small>(s.name, s.threads, {s.preemptions + (nightly() ? 1 : 0)}, s.at_least, s.script);
}

BOOST_AUTO_TEST_CASE(magazines_of_two_sizes) {
  using growing = magazine_world<variants::small::types, 1>;  // of 2 and of 6 blocks
  const magazine_script give_and_take{{"aaoooooo", "aaaaaooo"}, 48, {"aaaaaaaaaaaaaaaa", "aaaaaaaa"}};
  expect_right<growing>("magazines that grow", 2, {3}, 1'800, give_and_take);
  const magazine_script ended{{"aaaa", "oooaaa"}, 24, {"", "aaaaaaaaaa", "aaaaaaaaaaaaaaooooooooooooox"}};
  expect_right<growing>("larger magazines of one that ended", 2, {3}, 300, ended);
}

using lean = magazine_world<variants::small::types, 0, lean_heap>;

BOOST_AUTO_TEST_CASE(magazines_that_are_unloaded) {
  for (const scenario& s : scenarios)
    if (s.threads == 2) expect_right<lean>(s.name, 2, {s.preemptions - 1}, 10, s.script);
  const magazine_script both{{"oooooo", "oooooo"}, 32, {"aaaaaa", "aaaaaa"}};
  expect_right<lean>("both give nearly all back", 2, {3}, 1'000, both);
  const magazine_script leaning{{"oooooo", "oooood"}, 12, {"aaaaaa", "aaaaaa"}};
  expect_right<lean>("one drains, the other becomes lean", 2, {3}, 1'000, leaning);
  const magazine_script ending_too{{"oooooo", "oooox", "aao"}, 32, {"aaaaaa", "aaaaaa"}};
  expect_right<lean>("one gives back while one ends and one begins", 3, {2}, 1'000, ending_too);
  const magazine_script drained{{"oooooo", "d", "aod"}, 32, {"aaaaaaaa", "aaao"}};
  expect_right<lean>("unloaded and drained", 3, {2}, 1'000, drained);
}

BOOST_AUTO_TEST_CASE(loads_may_be_stale) {
  for (const scenario& s : scenarios)
    if (s.threads == 2) expect_right<small>(s.name, 2, {s.preemptions - 1, 0, 1}, s.at_least / 20, s.script);
}

BOOST_AUTO_TEST_CASE(the_header_as_it_is) {
  using world = magazine_world<variants::as_it_is::types>;
  const std::string before = std::string(36, 'a') + std::string(31, 'o');  // a full magazine in the depot, the next nearly
  const magazine_script exchange{{"oooo", "aaa"}, 48, {before.c_str(), ""}};
  expect_right<world>("magazines of 14", 2, {3}, 220, exchange);
}

// ---- mistakes ----------------------------------------------------------------------------------------------------------

template <class Types>
void expect_found(const char* name, unsigned threads, const magazine_script& script) {
  expect_wrong<magazine_world<Types>>(name, threads, {2}, script);
}

const magazine_script scavengers{{"aa", "aox", "a"}, 6, {"aa", "aaaaoooo"}};
const magazine_script inheriting{{"aa", "aao"}, 6, {"aa", "", "aaaaoooox"}};
const magazine_script ending{{"oxoo", "ao", "aa"}, 6, {"aaaa"}};
const magazine_script taking_at_the_end{{"oxaa", "ao", "aa"}, 6, {"aaaa"}};
const magazine_script exchanging{{"aaaaaa", "gggggg"}, 8, {"aaaaaapppppp"}};
const magazine_script exchanging_twice{{"aaaaaaaa", "gggggggg"}, 10, {"aaaaaaaapppppppp"}};
const magazine_script further{{"aao", "aao"}, 8, {}, 4096, {}, 0, 15};
const magazine_script beginning{{"a", "a"}, 6};
const magazine_script asked{{"d", "aaoo"}, 6, {"", "aaaaoo"}};
const magazine_script domains_begin{{"aaao", "aaao"}, 8, {}, 4096, {0, 1}};
const magazine_script foreign{{"aoao", "aoao", "oox"}, 8, {"aa", "", "aaaa"}, 4096, {0, 1, 0}};

BOOST_AUTO_TEST_CASE(mistakes_with_numbers_are_found) {
  expect_found<variants::taken_number_taken::types>("a number that another took", 2, beginning);
  expect_found<variants::dead_number_taken_twice::types>("a number that another took since it was looked at", 2, inheriting);
  expect_found<variants::record_kept_at_exit::types>("a thread that ended keeps its record", 3, ending);
  expect_found<variants::enrols_again_at_exit::types>("a thread that ended enrols again", 3, taking_at_the_end);
}

BOOST_AUTO_TEST_CASE(orders_that_are_too_weak_are_found) {
  expect_found<variants::number_taken_relaxed::types>("a number taken relaxed", 2, inheriting);
  expect_found<variants::dead_number_taken_relaxed::types>("a dead thread's number taken relaxed", 3, scavengers);
  expect_found<variants::number_given_back_relaxed::types>("a number given back relaxed", 3, scavengers);
  expect_found<variants::group_published_relaxed::types>("slots of further threads published relaxed", 2, further);
  expect_found<variants::group_found_relaxed::types>("slots of further threads found relaxed", 2, further);
}

BOOST_AUTO_TEST_CASE(mistakes_with_slots_are_found) {
  expect_found<variants::scavenged_without_number::types>("scavenged without the number", 3, scavengers);
  expect_found<variants::number_given_back_before_renewed::types>("a number given back before the slot is new", 3, scavengers);
  expect_found<variants::magazine_lost_at_renew::types>("a magazine lost with the slot", 3, scavengers);
  expect_found<variants::group_made_twice::types>("slots of further threads made twice", 2, further);
  expect_found<variants::full_spare_forgotten::types>("a full spare magazine forgotten", 3, scavengers);
  expect_found<variants::domain_not_compared::types>("a domain's number in another's pool", 2, domains_begin);
  expect_found<variants::domain_not_compared_when_hot::types>("a domain's number in another's pool, when hot", 3, foreign);
  expect_found<variants::flushed_without_guard::types>("asked blocks given back without the guard", 2, asked);
  expect_found<variants::emptied_by_another::types>("blocks taken from a slot in use", 2, asked);
  expect_found<variants::domain_stored::types>("two domains that both have the pool", 2, domains_begin);
}

BOOST_AUTO_TEST_CASE(mistakes_with_what_goes_at_trim_are_found) {
  const magazine_script begun{{"aot", "aao"}, 6, {}, 512, {}, 1024};
  expect_found<variants::forgotten_beside_another::types>("magazines of another that go", 2, begun);
  expect_found<variants::own_slot_not_forgotten::types>("a slot that keeps what went", 2, begun);
  expect_found<variants::others_renewed_when_forgotten::types>("a slot renewed that its thread looks at", 2, begun);
  const magazine_script far{{"aot", "aao"}, 8, {}, 2048, {}, 2048, 15};
  expect_found<variants::forgotten_beside_further_threads::types>("slots of further threads that go", 2, far);
}

BOOST_AUTO_TEST_CASE(mistakes_with_the_depot_are_found) {
  expect_found<variants::space_without_guard::types>("room made without the guard", 2, exchanging);
  expect_found<variants::full_magazine_stays::types>("a full magazine is taken twice", 2, exchanging);
  expect_found<variants::full_looked_for_without_guard::types>("a full magazine looked for without the guard", 2, exchanging);
  expect_found<variants::blocks_written_in_the_depot::types>("blocks written when others may have them", 2, exchanging);
  expect_found<variants::empty_magazine_lost::types>("an empty magazine lost at an exchange", 2, exchanging_twice);
  expect_found<variants::full_spare_overwritten::types>("a full magazine lost at an exchange", 2, exchanging);
  expect_found<variants::refilled_without_guard::types>("refilled without the guard", 2, exchanging);
  expect_found<variants::locked_pop_without_guard::types>("taken after the end without the guard", 2, {{"axa", "aaa"}, 6});
  expect_found<variants::locked_push_without_guard::types>("given back after the end without the guard", 3, ending);
  expect_found<variants::drained_without_guard::types>("drained without the guard", 2, {{"aod", "aao"}, 6});
  expect_found<variants::first_magazine_without_guard::types>("begun without the guard", 2, beginning);
}

BOOST_AUTO_TEST_CASE(mistakes_without_memory_for_magazines_are_found) {
  const magazine_script one_each{{"aaooa", "aaooo"}, 6, {"aa", "aa"}, 32};
  expect_found<variants::only_one_unloaded_and_kept::types>("a magazine given to the core, and kept", 2, one_each);
  const magazine_script two_each{{"ooo", "aaa"}, 12, {"aaaaaaoooo", "aaaaaaoooo"}, 64};
  expect_found<variants::oldest_unloaded_and_kept::types>("the older magazine given to the core, and kept", 2, two_each);
}

BOOST_AUTO_TEST_CASE(mistakes_with_unloading_are_found) {
  const magazine_script giving{{"oooooo", "oooooo"}, 32, {"aaaaaa", "aaaaaa"}};
  const magazine_script leaning{{"oooooo", "oooood"}, 12, {"aaaaaa", "aaaaaa"}};
  const auto found = [&]<class Types>(std::type_identity<Types>, const char* name, const magazine_script& script) {
    expect_wrong<magazine_world<Types, 0, lean_heap>>(name, 2, {2}, script);
  };
  found(std::type_identity<variants::unloaded_without_guard::types>{}, "unloaded without the guard", giving);
  found(std::type_identity<variants::unloaded_blocks_stay::types>{}, "blocks given to the core, and kept", giving);
  found(std::type_identity<variants::unloaded_spare_stays::types>{}, "a spare given to the core, and kept", leaning);
  found(std::type_identity<variants::limit_left_low::types>{}, "a magazine that is half full given to the depot",
        {{"aaaaooooaaaa", "aaaaooooaaaa"}, 8});
}

/// Nothing of the thread runs between the two, unless a signal handler does; and who uses thread_cached there is lost anyway.
BOOST_AUTO_TEST_CASE(the_order_of_number_and_record_at_the_end_is_no_matter_of_schedules) {
  using world = magazine_world<variants::number_given_back_before_record::types>;
  expect_right<world>("the number given back before the record is reset", 3, {3}, 79'000, ending);
}

}  // namespace

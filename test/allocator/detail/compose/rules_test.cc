// The rules are one function over what policies say of themselves: asked here for every combination of it, without a pool.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <map>

#include "tarn/allocator/detail/compose/rules.h"

namespace tarn::detail {
namespace {

// Every yes or no that a rule looks at, and a few numbers.
struct choice {
  unsigned bits;
  bool next() noexcept {
    const bool one = (bits & 1) != 0;
    bits >>= 1;
    return one;
  }
};
constexpr unsigned choices = 1u << 20;

composition chosen(choice c) {
  composition made;
  made.size.at_run_time = c.next();
  made.bytes = c.next() ? 0 : 8;
  made.alignment = c.next() ? 3 : 8;
  made.reuse.min_block = c.next() ? 16 : 8;
  made.store.bounded = c.next();
  made.growth.max_chunks = c.next() ? unlimited : 1;
  made.store.sized_by_geometry = c.next();
  made.exhaustion.store_is_sized_by_geometry = c.next();
  made.growth.needs_bounded_store = c.next();
  made.locking.keeps_blocks = c.next();
  made.locking.own_free_list = c.next();
  made.reuse_is_implied = c.next();
  made.retention.returns_chunks = c.next();
  made.locking.may_return_chunks = c.next();
  made.reuse.sees_empty_chunks = c.next();
  made.checking.checks_leaving = c.next();
  made.exhaustion.hears_frees = c.next();
  made.exhaustion.reclaims = c.next();
  made.retention.returns_pages = c.next();
  made.store.can_discard = c.next();
  made.locking.can_wait = made.locking.keeps_blocks != made.reuse_is_implied;
  made.locking.compares_and_swaps = made.locking.own_free_list;
  made.has_atomics = made.store.can_discard != made.locking.may_return_chunks;
  made.locking.tag_comes_round = made.locking.own_free_list && made.checking.checks_leaving;
  made.has_threads = made.exhaustion.hears_frees != made.store.bounded;
  made.outgrows_locking = made.locking.own_free_list && made.growth.max_chunks != 1;
  made.checking.switches = made.locking.can_wait;
  made.is_listed = made.retention.returns_pages;
  made.first_chunk = made.size.at_run_time ? 0 : made.bytes == 0 ? size_max : 4096;
  return made;
}

/// What the rules say in words, docs/rules.md, each for itself.
bool breaks(rule r, const composition& c) {
  switch (r) {
    case rule::none: return false;
    case rule::r1: return !c.size.at_run_time && c.bytes == 0;
    case rule::r2: return !c.size.at_run_time && !is_power_of_two(c.alignment);
    case rule::r3: return c.store.bounded && c.growth.max_chunks > 1;
    case rule::r4: return c.size.at_run_time && (c.store.sized_by_geometry || c.exhaustion.store_is_sized_by_geometry);
    case rule::r5: return c.growth.needs_bounded_store && !c.store.bounded;
    case rule::r6: return !c.size.at_run_time && c.reuse.min_block > sizeof(void*) && c.bytes < c.reuse.min_block;
    case rule::r7: return c.first_chunk > size_limit;
    case rule::r8: return c.retention.returns_chunks && !c.reuse.sees_empty_chunks;
    case rule::r9: return c.retention.returns_chunks && !c.locking.may_return_chunks;
    case rule::r10: return c.store.bounded && c.locking.keeps_blocks;
    case rule::r11: return c.locking.own_free_list && !c.retention.returns_chunks && !c.reuse_is_implied;
    case rule::r12: return c.exhaustion.hears_frees && !c.locking.can_wait;
    case rule::r13: return c.exhaustion.reclaims && c.store.bounded;
    case rule::r14: return c.checking.checks_leaving && !c.reuse.sees_empty_chunks;
    case rule::r15: return c.retention.returns_pages && !c.store.can_discard;
    case rule::r16: return c.outgrows_locking;
    case rule::r17: return c.checking.switches && !c.is_listed;
    case rule::y10: return c.locking.tag_comes_round && c.has_threads;
    case rule::y4: return c.locking.compares_and_swaps && !c.has_atomics;
  }
  return false;
}

constexpr rule all[] = {rule::r1, rule::r2, rule::r3,  rule::r4,  rule::r5,  rule::r6,  rule::r7,
                        rule::r8, rule::r9, rule::r10, rule::r11, rule::r12, rule::r13, rule::r14,
                        rule::r15, rule::r16, rule::r17, rule::y4, rule::y10};

BOOST_AUTO_TEST_CASE(what_is_refused_breaks_the_rule_that_is_named_and_what_breaks_none_is_accepted) {
  std::map<rule, std::size_t> named;
  std::size_t wrong = 0;
  for (unsigned bits = 0; bits != choices; ++bits) {
    const composition c = chosen({bits});
    const rule said = first_broken(c);
    ++named[said];
    bool any = false;
    for (const rule r : all) any |= breaks(r, c);
    wrong += any ? !breaks(said, c) : said != rule::none;
  }
  BOOST_TEST(wrong == 0u);
  for (const rule r : all) {
    if (r == rule::r7) continue;  // below: with a block of no bytes the cause is named
    BOOST_TEST(named[r] != 0u, "no combination breaks rule R" << static_cast<int>(r));
  }
  BOOST_TEST(named[rule::none] > 100u);
}

BOOST_AUTO_TEST_CASE(what_is_larger_than_an_address_space) {
  composition c;
  BOOST_TEST((first_broken(c) == rule::none));
  c.bytes = size_limit + 1;
  BOOST_TEST((first_broken(c) == rule::r7));
  c.bytes = 1;
  c.first_chunk = size_max;
  BOOST_TEST((first_broken(c) == rule::r7));
}

BOOST_AUTO_TEST_CASE(growth_past_what_can_be_told_apart) {
  constexpr std::size_t most = 65'535;
  BOOST_TEST((outgrows<fixed_growth<100>, 64, most>()));
  BOOST_TEST((!outgrows<fixed_growth<100, most>, 64, most>()));
  BOOST_TEST((outgrows<fixed_growth<100, most + 1>, 64, most>()));
  BOOST_TEST((outgrows<geometric_growth<>, 64, most>()));
  BOOST_TEST((!outgrows<geometric_growth<64, 1024, 2, most>, 64, most>()));
  BOOST_TEST((!outgrows<geometric_growth<64, 1024, 2, unlimited, most * 64 + 63>, 64, most>()));
  BOOST_TEST((outgrows<geometric_growth<64, 1024, 2, unlimited, most * 64 + 64>, 64, most>()));
  BOOST_TEST((!outgrows<no_growth<most>, 64, most>()));
  BOOST_TEST((outgrows<no_growth<most + 1>, 64, most>()));
  BOOST_TEST((!outgrows<no_growth<>, 64, most>()));
  BOOST_TEST((!outgrows<fixed_growth<100>, 64, unlimited>()));
}

}  // namespace
}  // namespace tarn::detail

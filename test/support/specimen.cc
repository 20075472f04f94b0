// A test program that ends in every way that one can; selftest.py picks the way with --run_test.

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <cstdlib>

#include "tarn/test/support/check.h"

namespace {
using tarn::test::called_from;

void check_in_a_helper(bool holds, called_from = {}) { CHECK(holds); }
void check_deeper(bool holds, called_from = {}) { check_in_a_helper(holds); }
template <class... Given>
void require_in_a_helper(called_from, Given... given) {
  (REQUIRE(given), ...);
}
void check_by_boost(bool holds, called_from = {}) { BOOST_TEST(holds); }
}  // namespace

BOOST_AUTO_TEST_CASE(passes) { BOOST_TEST(true); }

BOOST_AUTO_TEST_CASE(fails) { BOOST_TEST(false); }

BOOST_AUTO_TEST_CASE(throws) { throw 1; }

BOOST_AUTO_TEST_CASE(aborts) { std::abort(); }

BOOST_AUTO_TEST_CASE(is_killed) { std::raise(SIGKILL); }

BOOST_AUTO_TEST_CASE(leaves_early) { std::exit(0); }

BOOST_AUTO_TEST_CASE(fails_in_helpers) {
  check_in_a_helper(true);
  check_deeper(true);
  check_in_a_helper(false);
  check_deeper(false);
  check_by_boost(false);
  CHECK(1 == 2);
  require_in_a_helper({}, true, false);
}

// A test program that ends in every way that one can; selftest.py picks the way with --run_test.

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <cstdlib>

BOOST_AUTO_TEST_CASE(passes) { BOOST_TEST(true); }

BOOST_AUTO_TEST_CASE(fails) { BOOST_TEST(false); }

BOOST_AUTO_TEST_CASE(throws) { throw 1; }

BOOST_AUTO_TEST_CASE(aborts) { std::abort(); }

BOOST_AUTO_TEST_CASE(is_killed) { std::raise(SIGKILL); }

BOOST_AUTO_TEST_CASE(leaves_early) { std::exit(0); }

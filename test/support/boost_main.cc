// main() of every Boost.Test program of tarn, and what stands behind check.h: compiled once, not in each test.
//
// The last line of its output is "N passed, N failed", in test cases: test/run adds these lines up. A program that
// crashes or leaves early prints no such line and counts as failed.

// The library's own main() asks for no init function to be written; we need one, so we take the library's runner only.
#define BOOST_TEST_NO_MAIN
#include <boost/test/impl/unit_test_main.ipp>
#include <boost/test/results_collector.hpp>
#include <boost/test/unit_test.hpp>

#include <stdlib.h>
#include <cstdio>
#include <iostream>

#include "tarn/test/support/check.h"

namespace ut = boost::unit_test;
namespace tools = boost::test_tools::tt_detail;

namespace tarn::test {

void check_that(bool holds, const char* what, const char* file, std::size_t line) {
  if (!holds)
    tools::report_assertion(false, ut::lazy_ostream::instance() << what, file, line, tools::CHECK, tools::CHECK_MSG, 0);
}
void require(bool holds, const char* what, const char* file, std::size_t line) {
  if (!holds)
    tools::report_assertion(false, ut::lazy_ostream::instance() << what, file, line, tools::REQUIRE, tools::CHECK_MSG, 0);
}

// Not through the log, which would repeat the context of the check that failed with each call.
void called_from::report() {
  for (const called_from* call = innermost_; call != nullptr; call = call->outer_)
    std::cout << call->file_ << '(' << call->line_ << "): note: called from here\n";
}

}  // namespace tarn::test

namespace {

// After the framework's own observers: one that came before them would make Boost 1.74 read an unset flag.
struct late_observer : ut::test_observer {
  int priority() override { return 5; }
};

// Counts while the framework still knows the results: unit_test_main() forgets them before it returns.
class case_counter final : public late_observer {
 public:
  void test_finish() override {
    auto const& results = ut::results_collector.results(ut::framework::master_test_suite().p_id);
    passed = results.p_test_cases_passed + results.p_test_cases_warned;
    // An aborted case is among the failed ones, a timed-out one is not.
    failed = results.p_test_cases_failed + results.p_test_cases_timed_out;
    ran = true;
  }

  unsigned long passed = 0;
  unsigned long failed = 0;
  bool ran = false;
};

case_counter counter;

// Whichever macro it was that failed.
class caller_reporter final : public late_observer {
 public:
  void assertion_result(ut::assertion_result result) override {
    if (result == ut::AR_FAILED) tarn::test::called_from::report();
  }
  void exception_caught(boost::execution_exception const&) override { tarn::test::called_from::forget(); }
};

caller_reporter callers;

void observe() {
  ut::framework::register_observer(counter);
  ut::framework::register_observer(callers);
}

#ifdef BOOST_TEST_DYN_LINK  // The shared library, for CMake's tests where there is no archive, asks for another form.
bool init() {
  observe();
  return true;
}
#else
ut::test_suite* init(int, char*[]) {
  observe();
  return nullptr;
}
#endif

}  // namespace

int main(int argc, char* argv[]) {
  // Colours would stand in front of our last line; BOOST_TEST_COLOR_OUTPUT=yes brings them back.
  setenv("BOOST_TEST_COLOR_OUTPUT", "no", /*overwrite=*/0);
  int const status = ut::unit_test_main(init, argc, argv);
  if (counter.ran) {
    std::printf("%lu passed, %lu failed\n", counter.passed, counter.failed);
  }
  return status;
}

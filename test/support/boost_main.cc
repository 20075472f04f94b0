// main() of every Boost.Test program of tarn.
//
// The last line of its output is "N passed, N failed", in test cases: test/run adds these lines up. A program that
// crashes or leaves early prints no such line and counts as failed.

// The library's own main() asks for no init function to be written; we need one, so we take the library's runner only.
#define BOOST_TEST_NO_MAIN
#include <boost/test/impl/unit_test_main.ipp>
#include <boost/test/results_collector.hpp>

#include <stdlib.h>
#include <cstdio>

namespace {

namespace ut = boost::unit_test;

// Counts while the framework still knows the results: unit_test_main() forgets them before it returns.
class case_counter final : public ut::test_observer {
 public:
  void test_finish() override {
    auto const& results = ut::results_collector.results(ut::framework::master_test_suite().p_id);
    passed = results.p_test_cases_passed + results.p_test_cases_warned;
    // An aborted case is among the failed ones, a timed-out one is not.
    failed = results.p_test_cases_failed + results.p_test_cases_timed_out;
    ran = true;
  }

  // After the framework's own observers: one that came before them would make Boost 1.74 read an unset flag.
  int priority() override { return 5; }

  unsigned long passed = 0;
  unsigned long failed = 0;
  bool ran = false;
};

case_counter counter;

#ifdef BOOST_TEST_DYN_LINK  // The shared library asks for another form, which CMake's tests need where there is no archive.
bool init() {
  ut::framework::register_observer(counter);
  return true;
}
#else
ut::test_suite* init(int, char*[]) {
  ut::framework::register_observer(counter);
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

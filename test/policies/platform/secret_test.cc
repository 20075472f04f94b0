// The number that free blocks are encoded with: the same for all threads, even those that ask first, and another in each run.
#include <boost/test/unit_test.hpp>

#include <array>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tarn/policies/platform/secret.h"

#if defined(__linux__)
#include <unistd.h>
#endif

namespace {

using tarn::detail::make_secret;
using tarn::detail::secret;
using tarn::detail::secret_of_process;

BOOST_AUTO_TEST_CASE(threads_that_are_first_together_agree) {
  for (int round = 0; round != 200; ++round) {
    secret_of_process.store(0, tarn::detail::memory_order_relaxed);  // nobody has asked yet
    std::array<std::uintptr_t, 4> seen;
    std::barrier start(4);
    std::vector<std::thread> threads;
    for (std::uintptr_t& s : seen)
      threads.emplace_back([&] {
        start.arrive_and_wait();
        s = secret();
      });
    for (std::thread& t : threads) t.join();
    for (const std::uintptr_t s : seen) BOOST_TEST(s == seen[0]);
    BOOST_TEST(seen[0] == secret());
    BOOST_TEST(seen[0] != 0u);
  }
}

BOOST_AUTO_TEST_CASE(who_makes_it_again_gets_the_same) {
  const std::uintptr_t first = secret();
  BOOST_TEST(make_secret() == first);
  BOOST_TEST(secret() == first);
}

#if defined(__linux__)
/// This program says its secret and ends, where it is asked to; before any test runs.
const bool asked = [] {
  if (std::getenv("TARN_TEST_SAY_SECRET") == nullptr) return false;
  std::printf("%llx\n", static_cast<unsigned long long>(secret()));
  std::fflush(stdout);
  std::_Exit(0);
}();

std::string secret_of_another_run() {
  char self[4096] = {};
  BOOST_REQUIRE(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  FILE* const run = popen(("TARN_TEST_SAY_SECRET=1 '" + std::string(self) + "'").c_str(), "r");
  BOOST_REQUIRE(run != nullptr);
  char line[64] = {};
  BOOST_TEST((std::fgets(line, sizeof line, run) != nullptr));
  BOOST_TEST(pclose(run) == 0);
  return line;
}

BOOST_AUTO_TEST_CASE(every_run_has_its_own) {
  BOOST_TEST(!asked);
  std::set<std::string> seen;
  for (int i = 0; i != 10; ++i) seen.insert(secret_of_another_run());
  BOOST_TEST(seen.size() == 10u);
  for (const std::string& s : seen) BOOST_TEST(s.size() >= 8u);
}
#endif

BOOST_AUTO_TEST_CASE(a_place_has_another_code_for_each_use) {
  using tarn::detail::coded;
  const int place = 0;
  std::set<std::uintptr_t> codes;
  for (const coded use : {coded::link, coded::guard, coded::canary, coded::order})
    codes.insert(tarn::detail::code_of(&place, use));
  BOOST_TEST(codes.size() == 4u);
}

// Else whoever reads one knows the low bits of each that lies as far into another page, and could overwrite those alone.
BOOST_AUTO_TEST_CASE(the_low_bits_of_a_code_depend_on_all_bits_of_the_place) {
  using namespace tarn::detail;
  const std::uintptr_t drawn = secret();
  const std::uintptr_t factor = factor_of_process.load(memory_order_relaxed);
  secret_of_process.store(0x243F6A8885A308D3, memory_order_relaxed);  // the same in each run
  factor_of_process.store(0x13198A2E03707345, memory_order_relaxed);
  const std::uintptr_t place = 0x5555'0000'1230;
  const auto code = [](std::uintptr_t at) { return code_of(reinterpret_cast<const void*>(at), coded::link); };
  for (unsigned bit = 12; bit != 47; ++bit)
    BOOST_TEST(((code(place) ^ code(place ^ std::uintptr_t{1} << bit)) & 0xFFF) != 0u, bit);
  secret_of_process.store(drawn, memory_order_relaxed);
  factor_of_process.store(factor, memory_order_relaxed);
}

}  // namespace

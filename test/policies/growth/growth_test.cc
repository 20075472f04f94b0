// The series of chunks that each growth policy makes.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <vector>

#include "tarn/policies/growth.h"

namespace {

template <class Growth>
std::vector<std::size_t> series(std::size_t chunks, std::size_t stride = 64) {
  std::vector<std::size_t> all;
  std::size_t last = 0, total = 0;
  for (std::size_t i = 0; i < chunks; ++i) {
    last = Growth{}.next_chunk(last, total, stride).wanted;
    total += last;
    all.push_back(last);
  }
  return all;
}
using blocks = std::vector<std::size_t>;

BOOST_AUTO_TEST_CASE(fixed) {
  BOOST_TEST((series<tarn::fixed_growth<32>>(4) == blocks{32, 32, 32, 32}));
  BOOST_TEST((series<tarn::fixed_growth<32, 70>>(5) == blocks{32, 32, 6, 0, 0}));
}
BOOST_AUTO_TEST_CASE(geometric) {
  BOOST_TEST((series<tarn::geometric_growth<1, 30>>(8) == blocks{1, 2, 4, 8, 16, 30, 30, 30}));
  BOOST_TEST((series<tarn::geometric_growth<4, 100, 3>>(5) == blocks{4, 12, 36, 100, 100}));
  BOOST_TEST((series<tarn::geometric_growth<8, 64, 2, 50>>(5) == blocks{8, 16, 26, 0, 0}));
  BOOST_TEST((series<tarn::geometric_growth<5, 5>>(3) == blocks{5, 5, 5}));
}
BOOST_AUTO_TEST_CASE(geometric_by_the_size_of_the_block) {
  BOOST_TEST((series<tarn::geometric_growth<>>(4, 64) == blocks{64, 128, 256, 512}));
  BOOST_TEST(series<tarn::geometric_growth<>>(40, 64).back() == 65536u);         // 4 MiB
  BOOST_TEST((series<tarn::geometric_growth<>>(4, 1024 * 1024) == blocks{1, 2, 4, 4}));
  BOOST_TEST((series<tarn::geometric_growth<>>(3, 100 * 1024 * 1024) == blocks{1, 1, 1}));
}
BOOST_AUTO_TEST_CASE(geometric_never_wraps) {
  constexpr std::size_t huge = static_cast<std::size_t>(-1) / 2;
  using growth = tarn::geometric_growth<1, huge, 1000>;
  for (std::size_t last = 1; last != huge;) {
    const std::size_t next = growth{}.next_chunk(last, 1, 64).wanted;
    BOOST_REQUIRE(next > last);
    BOOST_REQUIRE(next <= huge);
    last = next;
  }
  BOOST_TEST(growth{}.next_chunk(huge, 1, 64).wanted == huge);
}
BOOST_AUTO_TEST_CASE(none) {
  BOOST_TEST((series<tarn::no_growth<7>>(3) == blocks{7, 0, 0}));
  BOOST_TEST(tarn::no_growth<>{}.next_chunk(0, 0, 64).at_most == tarn::unlimited);
}

}  // namespace

// Where a slot is, and which slot is where: slot_at() is the inverse of distance(), and knows when none starts there.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <random>
#include <string>

#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/size.h"
#include "tarn/test/support/check.h"

namespace {

using tarn::detail::block_shape;
using tarn::detail::geometry;
using tarn::detail::size_max;

/// Every slot of a chunk, and every byte between two: each slot's bytes are looked at, up to `slots`.
template <class Geometry>
void check_all(const Geometry& g, std::size_t slots, bool coloured, tarn::test::called_from = {}) {
  BOOST_TEST(g.coloured() == coloured);
  std::size_t wrong = 0;
  std::size_t next = 0;
  for (std::size_t i = 0; i < slots; ++i) {
    wrong += g.distance(i) < next;  // one behind the other
    for (; next < g.distance(i); ++next) wrong += g.slot_at(next) != size_max;  // what a colour leaves free, too
    wrong += g.slot_at(next++) != i;
    for (std::size_t byte = 1; byte < g.stride(); ++byte, ++next) wrong += g.slot_at(next) != size_max;
  }
  BOOST_TEST(wrong == 0u);
  BOOST_TEST(next == g.extent(slots));
}

/// Far slots, and their neighbourhood.
template <class Geometry>
void check_some(const Geometry& g, tarn::test::called_from = {}) {
  std::mt19937_64 random(1);
  std::size_t wrong = 0;
  for (int n = 0; n < 4000; ++n) {
    const std::size_t i = random() >> (random() % 30 + 34);
    const std::size_t at = g.distance(i);
    wrong += g.slot_at(at) != i;
    const std::size_t between = 1 + random() % g.stride();
    if (between != g.stride()) wrong += g.slot_at(at + between) != size_max;
    else wrong += g.slot_at(at + between) != (g.distance(i + 1) == at + between ? i + 1 : size_max);
  }
  BOOST_TEST(wrong == 0u);
}

template <std::size_t Bytes, std::size_t Align = 1, block_shape Shape = block_shape{}>
void check(std::size_t slots, bool coloured) {
  const geometry<tarn::static_size<Bytes, Align>, Shape> fixed;
  check_all(fixed, slots, coloured);
  check_some(fixed);
  const geometry<tarn::dynamic_size, Shape> given(tarn::dynamic_size{Bytes, Align});
  check_all(given, slots, coloured);
  check_some(given);
}

BOOST_AUTO_TEST_CASE(slots_that_lie_side_by_side) {
  check<1>(300, false);
  check<8, 8>(300, false);
  check<24, 8>(300, false);
  check<64, 64>(300, false);  // no colours under two cache lines
  check<100, 4>(300, false);
  check<192, 64>(400, false);  // nor where the stride is no power of two
  check<128, 128>(600, false);  // nor where a block needs more than a line's alignment
  check<4096, 4096>(50, false);
}

BOOST_AUTO_TEST_CASE(slots_that_are_coloured) {
  check<128, 8>(1100, true);
  check<128, 64>(1100, true);
  check<256>(600, true);
  check<1024, 16>(140, true);
  check<4096, 64>(36, true);
  check<32768>(5, true);
  check<65536>(3, true);  // each slot is a run
  check<131072>(2, true);
}

BOOST_AUTO_TEST_CASE(slots_with_bytes_around_the_block) {
  check<40, 8, block_shape{8, 8, 16, 4}>(300, false);
  check<200, 8, block_shape{8, 8, 24, 32}>(600, true);  // 256 in all
  check<1, 1, block_shape{16, 8}>(300, false);
}

/// As processors that can't divide have it.
template <std::size_t Stride>
void check_quotients() {
  std::size_t wrong = 0;
  for (const std::size_t from : {std::size_t{0}, size_max / 2 - 5000, size_max - 10000})
    for (std::size_t n = from; n != from + 10000; ++n)
      wrong += tarn::detail::exact_quotient<Stride>(n) != (n % Stride == 0 ? n / Stride : size_max);
  BOOST_TEST(wrong == 0u);
}

BOOST_AUTO_TEST_CASE(quotients_without_a_division) {
  check_quotients<1>();
  check_quotients<2>();
  check_quotients<48>();
  check_quotients<57>();
  check_quotients<64>();
  check_quotients<1000>();
  check_quotients<4096>();
}

BOOST_AUTO_TEST_CASE(no_slot_is_beyond_the_address_space) {
  const geometry<tarn::static_size<256>, block_shape{}> coloured;
  const geometry<tarn::static_size<24>, block_shape{}> plain;
  for (const std::size_t far : {size_max, size_max - 1, size_max / 2 + 1}) {
    const std::size_t c = coloured.slot_at(far), p = plain.slot_at(far);
    BOOST_TEST((c == size_max || coloured.distance(c) == far));
    BOOST_TEST((p == size_max || plain.distance(p) == far));
  }
}

}  // namespace

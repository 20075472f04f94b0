// The free blocks of windows that a walk will come to, beside a set.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tarn/allocator/detail/core/walk.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/size.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

template <std::size_t Bytes>
using geometry_of = detail::geometry<static_size<Bytes>, detail::block_shape{8, 8, 0, 0, 0}>;

/// \param known  blocks that the pool is said to have: for fewer the windows are smaller
template <std::size_t Bytes>
void wait_and_be_found(std::size_t n, std::size_t known, unsigned percent, called_from = {}) {
  using geometry = geometry_of<Bytes>;
  const geometry g;
  std::vector<std::uint64_t> memory((g.extent(n) + 7) / 8);
  auto* const start = reinterpret_cast<std::byte*>(memory.data());
  std::mt19937 random(percent);
  std::vector<bool> free(n);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i != n; ++i)
    if ((free[i] = random() % 100 < percent)) order.push_back(i);
  std::shuffle(order.begin(), order.end(), random);

  detail::waiting_blocks<geometry> waiting(g, known);
  for (const std::size_t i : order) waiting.add(start + g.distance(i));
  detail::walked_window<geometry> window(g, waiting.shift());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i != n; ++i) {
    std::byte* const block = start + g.distance(i);
    if (!window.has(block)) {
      window.enter(window.window_of(block));
      waiting.take(window.window_of(block), window);
    }
    wrong += window.is_marked(window.place_of(block)) == free[i] ? 0 : 1;
  }
  CHECK(wrong == 0);
}

BOOST_AUTO_TEST_CASE(blocks_of_every_size_are_found_again) {
  for (const std::size_t known : {1u, 3000u, 1u << 22})
    for (const unsigned percent : {1u, 30u, 100u}) {
      wait_and_be_found<8>(3000, known, percent);
      wait_and_be_found<16>(3000, known, percent);
      wait_and_be_found<24>(3000, known, percent);
      wait_and_be_found<56>(3000, known, percent);
      wait_and_be_found<128>(3000, known, percent);  // coloured
      wait_and_be_found<1000>(1000, known, percent);
    }
}
BOOST_AUTO_TEST_CASE(windows_share_entries) {  // of which there are 256
  wait_and_be_found<8>(200'000, 1, 3);
  wait_and_be_found<24>(100'000, 1, 3);
}

BOOST_AUTO_TEST_CASE(few_blocks_are_written) {
  const geometry_of<64> g;
  constexpr std::size_t n = 4096;
  std::vector<std::uint64_t> memory(n * 8, 7);
  auto* const start = reinterpret_cast<std::byte*>(memory.data());
  detail::waiting_blocks<geometry_of<64>> waiting(g, n);
  std::mt19937 random(3);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < n; i += 1 + random() % 3) order.push_back(i);
  std::shuffle(order.begin(), order.end(), random);
  for (const std::size_t i : order) waiting.add(start + g.distance(i));
  std::size_t written = 0;
  for (std::size_t i = 0; i != n; ++i) written += memory[i * 8] != 7 || memory[i * 8 + 7] != 7 ? 1 : 0;
  BOOST_TEST(order.size() > 1500u);
  BOOST_TEST(written > 0u);
  BOOST_TEST(written < 40u);  // a node for each 512 places, and one or two above it for each window
}

}  // namespace
}  // namespace tarn::test

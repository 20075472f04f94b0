// verify(): each damaged block is reported once, and each block is looked at once, however many are damaged.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/test/policies/checking/recording.h"

namespace tarn::test {
namespace {

/// Blocks of 64 bytes, and how often the size was asked for: once or more for each block that is looked at.
struct counted_size {
  using axis = tarn::axis::size;
  static constexpr size_traits traits{.at_run_time = true};
  static inline std::size_t asked = 0;

  std::size_t bytes() const noexcept {
    ++asked;
    return 64;
  }
  static std::size_t alignment() noexcept { return 16; }
};

/// How often verify() asks, with `n` blocks, all of which are damaged.
template <class... Policies>
std::size_t steps(std::size_t n) {
  const recording here;
  pool<counted_size, checked, Policies...> pool;
  std::vector<unsigned char*> blocks;
  for (std::size_t i = 0; i != n; ++i) blocks.push_back(static_cast<unsigned char*>(pool.allocate()));
  for (unsigned char* const block : blocks) block[64] ^= 1;  // an off-by-one in a loop
  counted_size::asked = 0;
  BOOST_TEST(pool.verify() == n);
  const std::size_t asked = counted_size::asked;
  BOOST_TEST(told.size() == n);
  BOOST_TEST(pool.verify() == 0u);  // it is mended
  for (unsigned char* const block : blocks) pool.deallocate(block);
  return asked;
}

BOOST_AUTO_TEST_CASE(verify_looks_at_each_block_once) {
  BOOST_TEST(steps<>(1000) * 5 / 2 > steps<>(2000));
  BOOST_TEST(steps<fixed_growth<16>>(1000) * 5 / 2 > steps<fixed_growth<16>>(2000));  // many chunks
}

BOOST_AUTO_TEST_CASE(only_what_is_damaged_is_reported_in_whatever_chunk) {
  const recording here;
  pool<static_size<64>, checked, fixed_growth<16>> pool;
  std::vector<unsigned char*> blocks;
  for (std::size_t i = 0; i != 100; ++i) blocks.push_back(static_cast<unsigned char*>(pool.allocate()));
  std::vector<const void*> damaged;
  for (const std::size_t i : {0u, 15u, 16u, 50u, 99u}) {
    blocks[i][-1] ^= 1;
    damaged.push_back(blocks[i]);
  }
  BOOST_TEST(pool.verify() == damaged.size());
  for (const misuse& what : told) BOOST_TEST(std::erase(damaged, what.address) == 1u);
  for (unsigned char* const block : blocks) pool.deallocate(block);
}

}  // namespace
}  // namespace tarn::test

// verify(): each damaged block is reported once, and each block is looked at once, however many are damaged.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/test/policies/checking/recording.h"

namespace tarn::test {
namespace {

/// As checked, and how often the record of a block was asked: once or more for each that is looked at.
struct counted_record : detail::life_record {
  static inline std::size_t asked = 0;

  bool was_handed_out() const noexcept {
    ++asked;
    return life_record::was_handed_out();
  }
};
struct counting_looks : checked {
  using record = counted_record;
  template <class Traits>
  using per_chunk = detail::block_records<record>;
  template <class Traits>
  using state = detail::block_checks<Traits, counting_looks>;
};

/// How often verify() asks, with `n` blocks, all of which are damaged.
template <class... Policies>
std::size_t steps(std::size_t n) {
  const recording here;
  pool<static_size<64>, counting_looks, Policies...> pool;
  std::vector<unsigned char*> blocks;
  for (std::size_t i = 0; i != n; ++i) blocks.push_back(static_cast<unsigned char*>(pool.allocate()));
  for (unsigned char* const block : blocks) block[64] ^= 1;  // an off-by-one in a loop
  counted_record::asked = 0;
  BOOST_TEST(pool.verify() == n);
  const std::size_t asked = counted_record::asked;
  BOOST_TEST(told.size() == n);
  BOOST_TEST(pool.verify() == 0u);  // it is mended
  for (unsigned char* const block : blocks) pool.deallocate(block);
  return asked;
}

// shows: FM-31
BOOST_AUTO_TEST_CASE(verify_looks_at_each_block_once) {
  BOOST_TEST(steps<>(1000) >= 1000u);
  BOOST_TEST(steps<>(1000) * 5 / 2 > steps<>(2000));
  BOOST_TEST(steps<fixed_growth<16>>(1000) * 5 / 2 > steps<fixed_growth<16>>(2000));  // many chunks
}

}  // namespace
}  // namespace tarn::test

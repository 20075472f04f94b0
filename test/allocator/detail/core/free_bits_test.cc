// The bits of a chunk beside a set.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "tarn/allocator/detail/core/free_bits.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

BOOST_AUTO_TEST_CASE(blocks_leave_in_ascending_order_whatever_came_meanwhile) {
  for (const std::size_t blocks : {1u, 63u, 64u, 65u, 1000u}) {
    std::vector<std::uint64_t> memory(detail::free_bits::bytes(blocks) / 8, ~std::uint64_t{0});  // which it clears by itself
    detail::free_bits bits;
    bits.open(reinterpret_cast<std::byte*>(memory.data()));
    std::set<std::size_t> free;
    std::mt19937 random(7);
    for (int round = 0; round != 2000; ++round) {
      for (std::size_t n = random() % 9; n != 0; --n) {
        const std::size_t block = random() % blocks;
        if (!free.insert(block).second) continue;
        bits.mark(block / 64, std::uint64_t{1} << block % 64, 1);
      }
      REQUIRE(bits.free_blocks() == free.size());
      const std::size_t asked = random() % 9;
      bits.take(random() % 4 == 0 ? asked : 0, [&](std::size_t block) {
        REQUIRE(!free.empty() && *free.begin() == block);
        free.erase(free.begin());
      });
      REQUIRE(bits.free_blocks() == free.size());
      for (const std::size_t block : {std::size_t{0}, blocks / 2, blocks - 1})
        REQUIRE(bits.is_free(block) == free.contains(block));
      if (round % 500 == 0) bits.forget(), free.clear();
    }
  }
}

}  // namespace
}  // namespace tarn::test

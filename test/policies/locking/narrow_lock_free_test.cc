// lock_free as it is where a processor exchanges no more than 32 bits at once: numbers of 16 bits, and growth that stops there.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/policies/axis.h"

namespace tarn::test {
namespace {

/// Here there are threads, for which rule Y10 would refuse it: these tests don't stop one for 65,536 pops.
struct narrow : detail::stack_locking<std::uint32_t> {
  static constexpr locking_traits traits = [] {
    locking_traits its = stack_locking::traits;
    its.tag_comes_round = false;
    return its;
  }();
};
constexpr std::size_t most = 65'535;

using block_type = static_size<16>;

/// All blocks of a pool, each with its number in it.
template <class Pool>
std::vector<std::size_t*> all_of(Pool& pool) {
  std::vector<std::size_t*> blocks;
  while (auto* const block = static_cast<std::size_t*>(pool.try_allocate())) {
    *block = blocks.size();
    blocks.push_back(block);
    BOOST_REQUIRE(blocks.size() <= most);
  }
  return blocks;
}
template <class Pool>
void expect_all(Pool& pool, std::size_t at_least) {
  for (int round = 0; round != 2; ++round) {
    const std::vector<std::size_t*> blocks = all_of(pool);
    BOOST_TEST(blocks.size() >= at_least);
    BOOST_TEST(pool.capacity() == blocks.size());
    std::size_t shared = 0;
    for (std::size_t i = 0; i != blocks.size(); ++i) shared += *blocks[i] != i;
    BOOST_TEST(shared == 0u);
    for (std::size_t i = 0; i != blocks.size(); ++i) pool.deallocate(blocks[i * 7919 % blocks.size()]);
  }
}

BOOST_AUTO_TEST_CASE(links_take_two_bytes) {
  BOOST_TEST(sizeof(narrow::per_chunk<void>::link) == 2u);
  BOOST_TEST(sizeof(lock_free::per_chunk<void>::link) == (platform::has_wide_atomics ? 4u : 2u));
}

BOOST_AUTO_TEST_CASE(an_array_has_as_many_blocks_as_there_are_numbers) {
  auto pool = std::make_unique<tarn::pool<block_type, narrow, static_array_store<most>>>();
  expect_all(*pool, most);
}

BOOST_AUTO_TEST_CASE(a_pool_that_grows_ends_below_the_last_number) {
  tarn::pool<block_type, narrow, fixed_growth<1000, most>> even;
  expect_all(even, 63'000);  // 1000 blocks take 16 runs of 64 numbers, and there are 1023
  tarn::pool<block_type, narrow, geometric_growth<64, 4096, 2, most>> faster;
  expect_all(faster, 60'000);
  tarn::pool<block_type, narrow, fixed_growth<64, most>> whole_runs;
  expect_all(whole_runs, 65'472);
}

/// A cap that is known only when the program runs.
struct grows_for_ever {
  using axis = tarn::axis::growth;
  static constexpr growth_traits traits{};
  std::size_t blocks = 10'000;
  detail::chunk_request next_chunk(std::size_t, std::size_t, std::size_t) const noexcept { return {blocks, blocks}; }
};

BOOST_AUTO_TEST_CASE(growth_without_an_end_is_refused_at_the_last_number) {
  tarn::pool<block_type, narrow, grows_for_ever> pool;
  expect_all(pool, 60'000);
  BOOST_TEST(!pool.try_reserve(most + 1));
  expect_all(pool, 60'000);
}

BOOST_AUTO_TEST_CASE(a_chunk_with_more_blocks_than_numbers_is_refused) {
  tarn::pool<block_type, narrow, grows_for_ever> pool(grows_for_ever{most + 1});
  BOOST_TEST(pool.try_allocate() == nullptr);
  std::vector<std::byte> memory((most + 1) * 32);
  tarn::pool<block_type, narrow, buffer_store> in_buffer{buffer_store(memory)};
  BOOST_TEST(in_buffer.try_allocate() == nullptr);
  tarn::pool<block_type, narrow, buffer_store, no_growth<most>> with_a_cap{buffer_store(memory)};
  expect_all(with_a_cap, most);
}

}  // namespace
}  // namespace tarn::test

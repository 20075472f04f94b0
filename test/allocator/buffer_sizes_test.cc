// bytes_for() and blocks_in() of every tested pool in a buffer: as many blocks come out as they say, and not one more.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <span>
#include <vector>

#include "tarn/test/support/check.h"
#include "tarn/test/support/tested_pools.h"

namespace tarn::test {
namespace {

std::vector<tested_pool> those_in_buffers() {
  std::vector<tested_pool> some;
  std::ranges::copy_if(tested_pools(), std::back_inserter(some), [](const tested_pool& p) { return p.make_in != nullptr; });
  return some;
}

/// So many bytes at an address that is a multiple of `alignment`, and of no larger power of two.
class buffer {
 public:
  buffer(std::size_t bytes, std::size_t alignment) : memory_(bytes + 3 * most), bytes_(bytes), alignment_(alignment) {}
  std::span<std::byte> bytes() {
    const std::size_t start = detail::round_up(detail::address_of(memory_.data()), 2 * most) + alignment_;
    return std::span(memory_).subspan(start - detail::address_of(memory_.data()), bytes_);
  }
  static constexpr std::size_t most = 256;  // alignment

 private:
  std::vector<std::byte> memory_;
  std::size_t bytes_, alignment_;
};
constexpr std::size_t alignments[] = {1, 4, 16, 128};

/// How many blocks come out of that buffer; the pool may have others.
std::size_t blocks_from(const tested_pool& is, std::size_t bytes, std::size_t alignment) {
  buffer memory(bytes, alignment);
  const std::span<std::byte> all = memory.bytes();
  const auto pool = is.make_in(all);
  std::vector<void*> blocks;
  while (void* const block = pool->try_allocate()) blocks.push_back(block);
  pool->deallocate_batch(blocks);
  return static_cast<std::size_t>(std::ranges::count_if(blocks, [&](void* block) {
    return std::greater_equal<>()(block, all.data()) && std::less<>()(block, all.data() + all.size());
  }));
}

/// Whether the answers are right, of some numbers of blocks.
using answer = std::function<std::size_t(std::size_t, std::size_t)>;
bool bytes_are_right(const tested_pool& is, const answer& bytes_for, std::size_t alignment,
                     std::initializer_list<std::size_t> of) {
  return std::ranges::all_of(of, [&](std::size_t n) {
    const std::size_t bytes = bytes_for(n, alignment);
    return blocks_from(is, bytes, alignment) == n && blocks_from(is, bytes - 1, alignment) == n - 1;
  });
}
bool blocks_are_right(const tested_pool& is, const answer& blocks_in, std::size_t alignment,
                      std::initializer_list<std::size_t> of) {
  return std::ranges::all_of(of, [&](std::size_t n) {
    return std::ranges::all_of(
        std::initializer_list<std::size_t>{n - 1, n, n + is.bytes_for(1, alignment) / 2},
        [&](std::size_t bytes) { return blocks_in(bytes, alignment) == blocks_from(is, bytes, alignment); });
  });
}

BOOST_DATA_TEST_CASE(as_many_blocks_come_out_as_the_bytes_are_for, those_in_buffers(), is) {
  for (const std::size_t alignment : alignments) CHECK(bytes_are_right(is, is.bytes_for, alignment, {1, 2, 3, 64, 65, 200}));
  for (const std::size_t better : {2u, 8u, 256u}) {  // the same bytes at an address of which less is known
    const std::size_t blocks = blocks_from(is, is.bytes_for(65, 1), better);
    CHECK(blocks == 65u);
  }
}
BOOST_DATA_TEST_CASE(as_many_blocks_come_out_as_the_bytes_have, those_in_buffers(), is) {
  for (const std::size_t alignment : alignments)
    CHECK(blocks_are_right(is, is.blocks_in, alignment, {1, is.bytes_for(1, alignment), 1000, is.bytes_for(65, alignment)}));
  CHECK(is.blocks_in(0, 1) == 0u);
  CHECK(is.bytes_for(0, 1) == 0u);
  for (std::size_t n = 1; n < 3000; n += n / 2 + 1) CHECK(is.blocks_in(is.bytes_for(n, 8), 8) == n);
}
BOOST_DATA_TEST_CASE(a_limit_of_blocks_is_known, those_in_buffers(), is) {
  const std::size_t most = is.blocks_in(detail::size_limit, 1);
  if (most > 1'000'000) return;  // as many as the buffer has
  CHECK(is.bytes_for(most + 1, 1) == detail::size_max);
  CHECK(blocks_from(is, is.bytes_for(most, 16) + 4096, 16) == most);
}
BOOST_DATA_TEST_CASE(an_answer_that_is_off_by_one_is_found, those_in_buffers(), is) {
  const auto fewer = [&](std::size_t n, std::size_t alignment) { return is.bytes_for(n, alignment) - 1; };
  const auto more = [&](std::size_t n, std::size_t alignment) { return is.bytes_for(n, alignment) + 1; };
  const auto one_less = [&](std::size_t bytes, std::size_t alignment) { return is.blocks_in(bytes, alignment) - 1; };
  const auto one_more = [&](std::size_t bytes, std::size_t alignment) { return is.blocks_in(bytes, alignment) + 1; };
  const auto unaligned = [&](std::size_t n, std::size_t) { return is.bytes_for(n, buffer::most); };
  CHECK(!bytes_are_right(is, fewer, 16, {10}));
  CHECK(!bytes_are_right(is, more, 16, {10}));
  CHECK(!bytes_are_right(is, unaligned, 1, {10}));
  CHECK(!blocks_are_right(is, one_less, 16, {1000}));
  CHECK(!blocks_are_right(is, one_more, 16, {1000}));
}

}  // namespace
}  // namespace tarn::test

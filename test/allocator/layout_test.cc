// Any size from 1 to 512 with any power-of-two alignment up to 4096, over each store that grows: every block aligned, blocks
// disjoint and inside their chunk, chunks aligned, capacities exact. Buffers and arrays: bounded_store_test.cc, in
// test/policies/store.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

constexpr std::size_t max_size = 512;
constexpr std::size_t alignments = 13;  // 1, 2, 4 ... 4096

/// Takes some blocks, writes every byte of them, and looks at all of them. `n` 0: all there are.
template <class Pool>
std::size_t check_blocks(Pool& pool, std::size_t size, std::size_t alignment, std::size_t n, called_from = {}) {
  std::vector<std::byte*> blocks;
  while (blocks.size() < n || n == 0) {
    auto* const block = static_cast<std::byte*>(pool.try_allocate());
    if (block == nullptr) break;
    require(detail::address_of(block) % alignment == 0, "a block that isn't aligned");
    require(pool.owns(block) && pool.owns(block + size - 1), "a block outside the pool's chunks");
    std::memset(block, 0x5A, size);
    blocks.push_back(block);
  }
  std::vector<std::byte*> sorted = blocks;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < sorted.size(); ++i)
    require(static_cast<std::size_t>(sorted[i] - sorted[i - 1]) >= size, "blocks that overlap");
  for (std::byte* const block : blocks) pool.deallocate(block);
  return blocks.size();
}

template <class Check>
void for_every_layout(std::size_t& layouts, Check check) {
  for (std::size_t size = 1; size <= max_size; ++size)
    for (std::size_t a = 0; a < alignments; ++a) {
      check(size, std::size_t{1} << a);
      ++layouts;
    }
}

template <class Reuse>
void over_every_growing_store(called_from = {}) {
  std::size_t layouts = 0;
  for_every_layout(layouts, [](std::size_t size, std::size_t alignment) {
    const dynamic_size block{size, alignment};
    pool<dynamic_size, heap_store, Reuse, fixed_growth<5>> heap{block};
    require(check_blocks(heap, size, alignment, 12) == 12, "too few blocks");
    upstream upstream;
    {
      pool<dynamic_size, resource_store, Reuse, geometric_growth<3, 7>> resource{block, resource_store{&upstream}};
      require(check_blocks(resource, size, alignment, 12) == 12, "too few blocks");
      pool<dynamic_size, resource_store, Reuse, no_growth<9>> one{block, resource_store{&upstream}};
      require(check_blocks(one, size, alignment, 0) == 9, "a single chunk that isn't exact");
    }
    require(upstream.bytes() == 0 && upstream.faults() == 0, "a chunk that came back otherwise than it went");
  });
  BOOST_TEST(layouts == max_size * alignments);
}

BOOST_AUTO_TEST_CASE(over_heap_and_resource_with_lifo_reuse) { over_every_growing_store<lifo_reuse<>>(); }
BOOST_AUTO_TEST_CASE(over_heap_and_resource_with_batch_reuse) { over_every_growing_store<batch_reuse<>>(); }

BOOST_AUTO_TEST_CASE(over_pages) {
  std::size_t layouts = 0;
  for_every_layout(layouts, [](std::size_t size, std::size_t alignment) {
    pool<dynamic_size, page_store<>, fixed_growth<5>> pages{dynamic_size{size, alignment}};
    require(check_blocks(pages, size, alignment, 12) == 12, "too few blocks");
  });
  BOOST_TEST(layouts == max_size * alignments);
}

BOOST_AUTO_TEST_CASE(over_huge_pages) {
  std::size_t layouts = 0;
  for_every_layout(layouts, [](std::size_t size, std::size_t alignment) {
    if (size % 16 != 1 && size < 500) return;  // 2 MiB each: a part of them
    pool<dynamic_size, page_store<huge_pages>> pages{dynamic_size{size, alignment}};
    require(check_blocks(pages, size, alignment, 12) == 12, "too few blocks");
  });
}

BOOST_AUTO_TEST_CASE(coloured_blocks_start_in_different_lines_of_the_cache) {
  pool<static_size<256>, no_growth<2000>> pool;
  std::vector<std::size_t> seen(4);
  for (int i = 0; i < 2000; ++i) ++seen[detail::address_of(pool.allocate()) / 64 % 4];
  for (const std::size_t blocks : seen) BOOST_TEST(blocks >= 256u);
}

BOOST_AUTO_TEST_CASE(blocks_of_a_cache_line_lie_in_one) {
  pool<static_size<64, 8>> a;
  BOOST_TEST(detail::address_of(a.allocate()) % 64 == 0u);
  pool<static_size<64, 8>, static_array_store<3>> b;
  BOOST_TEST(detail::address_of(b.allocate()) % 64 == 0u);
}

}  // namespace
}  // namespace tarn::test

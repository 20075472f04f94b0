// static_array_store and buffer_store give exactly the blocks that their bytes hold: for every number of bytes, start and
// layout, under every policy they can stand beside, and the same number again after everything went back.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/rig.h"

namespace tarn::test {
namespace {

// The policies of a pool, without its size and store.
template <class... Policies>
struct row {
  template <class Size, class Store>
  using pool = tarn::pool<Size, Store, Policies...>;
};
using rows =
    std::tuple<row<no_locking>, row<no_locking, batch_reuse<>>, row<no_locking, batch_reuse<prefetch::none, 128>>,
               row<no_locking, page_local_reuse<>>, row<grouped_locking<struct crew, std::mutex>, return_empty_chunks<>>,
               row<no_locking, page_local_reuse<4096, prefetch::on_free, 128>, return_empty_chunks<0, 0>>, row<lock_free>>;

/// What `blocks` blocks may cost beside themselves, in bytes, by what the reuse and locking policies' pages say.
template <class Pool>
std::size_t most_overhead(std::size_t blocks, std::size_t stride, std::size_t alignment) {
  using f = facts<Pool>;
  std::size_t bytes = 0;
  if (!f::may_return_chunks) bytes += (4 * blocks + 7) / 8 * 8;                 // lock_free: 4 bytes a block
  if (f::sees_empty_chunks) bytes += blocks / 4 + blocks / 256 + 40;             // a bit and some for each block
  if (!f::sees_empty_chunks && blocks * stride >= 32 * 129 * 8) bytes += 1025 * 8;  // batch_reuse's front
  if (bytes != 0) bytes += alignment - 1;
  if (stride >= 128 && detail::is_power_of_two(stride)) bytes += (blocks * stride / (64 * 1024)) * 64;  // coloured
  return bytes;
}

std::size_t pools_seen = 0;  // of one case

/// Takes all there are, and looks at them.
template <class Pool>
std::size_t take_all(Pool& pool, std::vector<std::byte*>& blocks, std::span<std::byte> within, std::size_t size,
                     std::size_t alignment) {
  blocks.clear();
  while (void* const block = pool.try_allocate()) {
    std::memset(block, 0x5A, size);
    blocks.push_back(static_cast<std::byte*>(block));
  }
  REQUIRE(pool.try_allocate() == nullptr);
  std::sort(blocks.begin(), blocks.end());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    REQUIRE(detail::address_of(blocks[i]) % alignment == 0);
    REQUIRE(i == 0 || static_cast<std::size_t>(blocks[i] - blocks[i - 1]) >= size);
    REQUIRE(pool.owns(blocks[i]));
  }
  REQUIRE(blocks.empty() || (blocks.front() >= within.data() && blocks.back() + size <= within.data() + within.size()));
  return blocks.size();
}

/// Takes all, gives all back, trims, releases; and finds the same number each time. Returns it.
template <class Pool>
std::size_t check_exact(Pool& pool, std::span<std::byte> within, std::size_t size, std::size_t alignment, called_from = {}) {
  static std::vector<std::byte*> blocks;
  const std::size_t n = pool.capacity();
  for (int round = 0; round < 4; ++round) {
    REQUIRE(take_all(pool, blocks, within, size, alignment) == n);
    if (round % 2 == 1) std::reverse(blocks.begin(), blocks.end());
    REQUIRE(pool.capacity() == n);
    if (round == 3) release_if_possible(pool);  // with all of them in use
    else
      for (std::byte* const block : blocks) pool.deallocate(block);
    if (round == 1) trim_if_possible(pool);
    if (round == 2) release_if_possible(pool);
    REQUIRE(pool.capacity() == n);
  }
  if constexpr (facts<Pool>::may_return_chunks) REQUIRE(take_all(pool, blocks, within, size, alignment) == n);
  ++pools_seen;
  return n;
}

/// All buffers that end at one address and start at `first` .. `last` bytes before it.
template <class Pool>
void check_buffers(std::span<std::byte> all, std::size_t first, std::size_t last, std::size_t size, std::size_t alignment,
                   called_from = {}) {
  std::size_t before = 0;
  for (std::size_t bytes = first; bytes <= last; ++bytes) {
    const std::span<std::byte> buffer = all.subspan(0, bytes);
    Pool pool{dynamic_size{size, alignment}, buffer_store{buffer}};
    const std::size_t n = check_exact(pool, buffer, size, alignment);
    const std::size_t a = std::max(alignment, facts<Pool>::reuse::traits.min_alignment);
    const std::size_t stride = detail::round_up(std::max(size, facts<Pool>::reuse::traits.min_block), a);
    const std::size_t skipped = detail::round_up(detail::address_of(buffer.data()), a) - detail::address_of(buffer.data());
    const std::size_t room = bytes > skipped ? bytes - skipped : 0;
    REQUIRE(n <= room / stride);
    // One more doesn't fit.
    REQUIRE((n + 1) * stride + most_overhead<Pool>(n + 1, stride, a) > room);
    REQUIRE(bytes == first || n == before || n == before + 1);
    before = n;
  }
}

struct shape {
  std::size_t size;
  std::size_t alignment;
};

template <class Row>
void check_every_buffer() {
  using pool = typename Row::template pool<dynamic_size, buffer_store>;
  alignas(4096) static std::byte memory[8192];
  std::memset(memory, 0x11, sizeof memory);
  for (const shape s : {shape{1, 1}, shape{16, 16}, shape{20, 4}, shape{24, 8}, shape{64, 64}, shape{100, 32},
                        shape{40, 1024}})
    for (const std::size_t start : {64u, 69u}) {
      const std::size_t most = std::max<std::size_t>(6 * std::max(s.size, s.alignment), 300);
      const std::span bytes = std::span(memory).subspan(start, most);
      check_buffers<pool>(bytes, 0, std::min<std::size_t>(most, 700), s.size, s.alignment);
      if (most > 1100) check_buffers<pool>(bytes, 1000, 1100, s.size, s.alignment);
      for (std::size_t i = 0; i < start; ++i) REQUIRE(memory[i] == std::byte{0x11});
      for (std::size_t i = start + most; i < sizeof memory; ++i) REQUIRE(memory[i] == std::byte{0x11});
      std::memset(memory, 0x11, sizeof memory);
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(every_buffer_is_used_to_the_block, Row, rows) {
  pools_seen = 0;
  check_every_buffer<Row>();
  BOOST_TEST(pools_seen >= 14u * 300);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(so_are_large_buffers_with_fronts_and_colours, Row, rows) {
  using pool = typename Row::template pool<dynamic_size, buffer_store>;
  static std::vector<std::byte> memory(600'000);
  pools_seen = 0;
  for (const shape s : {shape{24, 8}, shape{128, 8}, shape{256, 64}})
    for (const std::size_t bytes : {30'000u, 65'600u, 262'400u, 270'600u, 500'000u})
      check_buffers<pool>(std::span(memory).subspan(3), bytes, bytes + 2, s.size, s.alignment);
  BOOST_TEST(pools_seen == 3u * 5 * 3);
}

template <class Row, class Size, std::size_t Blocks>
void check_array(called_from = {}) {
  using pool_type = typename Row::template pool<Size, static_array_store<Blocks>>;
  const auto pool = std::make_unique<pool_type>();
  const std::span within(reinterpret_cast<std::byte*>(pool.get()), sizeof(pool_type));
  REQUIRE(pool->capacity() == Blocks);
  REQUIRE(check_exact(*pool, within, Size::bytes(), Size::alignment()) == Blocks);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(arrays_hold_exactly_their_blocks, Row, rows) {
  pools_seen = 0;
  check_array<Row, static_size<24>, 1>();
  check_array<Row, static_size<16, 256>, 65>();
  check_array<Row, static_size<256>, 300>();
  BOOST_TEST(pools_seen == 3u);
}

template <class Pool>
std::size_t taken(Pool& pool) {
  std::size_t n = 0;
  while (pool.try_allocate() != nullptr) ++n;
  return n;
}

BOOST_AUTO_TEST_CASE(a_growth_policy_caps_an_array) {
  pool<static_size<64>, static_array_store<100>, no_growth<50>> half;
  BOOST_TEST(half.capacity() == 50u);
  BOOST_TEST(taken(half) == 50u);
  pool<static_size<64>, static_array_store<100>, no_growth<100>> whole;
  BOOST_TEST(taken(whole) == 100u);
}

BOOST_AUTO_TEST_CASE(an_array_goes_back_when_all_of_it_is_free) {
  pool<static_size<48>, static_array_store<32>> pool;
  BOOST_TEST(pool.trim() == 0u);  // no block was handed out
  void* const one = pool.try_allocate();
  void* const other = pool.try_allocate();
  BOOST_TEST(pool.owns(one));
  BOOST_TEST(pool.trim() == 0u);
  pool.deallocate(one);
  BOOST_TEST(pool.trim() == 0u);
  BOOST_TEST(pool.try_allocate() == one);  // trim() kept the order
  pool.deallocate(one);
  pool.deallocate(other);
  BOOST_TEST(pool.trim() == 32u * 48);
  BOOST_TEST(pool.trim() == 0u);
  BOOST_TEST(taken(pool) == 32u);
  pool.release();
  BOOST_TEST(taken(pool) == 32u);
  BOOST_TEST(pool.capacity() == 32u);
  BOOST_TEST(pool.try_reserve(32));
  BOOST_TEST(!pool.try_reserve(33));
}

}  // namespace
}  // namespace tarn::test

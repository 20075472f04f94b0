// The arithmetic of blocks and chunks, against what it says it is.
#include <boost/test/unit_test.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/test/support/anatomy.h"
#include "tarn/test/support/check.h"

namespace {

using namespace tarn::detail;
using tarn::dynamic_size;

const std::vector<std::size_t> sizes{1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 48, 63, 64, 65, 72, 96, 100, 127, 128,
                                     129, 136, 192, 255, 256, 257, 511, 512, 1000, 1024, 4096, 5000, 65536, 100000, 1 << 20};

const std::vector<std::size_t> counts{1, 2, 3, 10, 63, 64, 65, 256, 257, 511, 512, 513, 1024, 4000, 4096, 4097};

std::vector<std::size_t> alignments() {
  std::vector<std::size_t> all;
  for (std::size_t a = 1; a <= 4096; a *= 2) all.push_back(a);
  return all;
}

template <class F>
void for_each_layout(F f, tarn::test::called_from = {}) {
  for (const std::size_t bytes : sizes)
    for (const std::size_t alignment : alignments())
      BOOST_TEST_CONTEXT("size " << bytes << ", alignment " << alignment) f(dynamic_size{bytes, alignment});
}

constexpr block_shape plain_shape{8, 8, 0, 0};
constexpr block_shape framed_shape{16, 8, 24, 5};  // as a checking policy would
constexpr block_shape kept_shape{1, 8, 32, 16, 16};  // one that keeps lists out of the payload
using plain = geometry<dynamic_size, plain_shape>;
using framed = geometry<dynamic_size, framed_shape>;
using kept = geometry<dynamic_size, kept_shape>;

BOOST_AUTO_TEST_SUITE(arithmetic)

// Is power of two knows them.
static_assert(!is_power_of_two(0) && is_power_of_two(1) && is_power_of_two(2) && !is_power_of_two(3));
static_assert(is_power_of_two(std::size_t{1} << 63) && !is_power_of_two(size_max));

BOOST_AUTO_TEST_CASE(round_up_is_the_next_multiple) {
  for (std::size_t power = 1; power <= 4096; power *= 2)
    for (std::size_t n = 0; n < 10000; ++n) {
      const std::size_t up = round_up(n, power);
      if (up % power != 0 || up < n || up - n >= power) BOOST_ERROR("round_up(" << n << ", " << power << ") is " << up);
    }
  BOOST_TEST(round_up(size_limit, std::size_t{1} << 60) >= size_limit);  // no wrap at the limit
}

// Lowest bit divides.
static_assert(lowest_bit(0) == 1 && lowest_bit(1) == 1 && lowest_bit(12) == 4 && lowest_bit(4096) == 4096);
static_assert(lowest_bit(size_max) == 1 && lowest_bit(std::size_t{1} << 63) == std::size_t{1} << 63);

// Exceeds counts in all of size_t, in both of its ways.
static_assert(!exceeds(0, size_max, 0) && !exceeds(3, 5, 15) && exceeds(3, 5, 14));
static_assert(!exceeds(size_limit / 24, 24, size_limit) && exceeds(size_limit / 24 + 1, 24, size_limit));
static_assert(exceeds(size_max, 2, size_limit) && exceeds(2, size_max, size_limit) && exceeds(size_max, size_max, size_max));
static_assert(!exceeds(size_max, 1, size_max) && exceeds(std::size_t{1} << 32, std::size_t{1} << 32, size_max));
static_assert(!exceeds((std::size_t{1} << 32) - 1, (std::size_t{1} << 32) - 1, size_max));

// Multiply and add do not wrap.
static_assert(multiply(0, size_max) == 0 && multiply(size_max, 0) == 0 && multiply(3, 5) == 15);
static_assert(multiply(size_max, 1) == size_max && multiply(size_max / 2 + 1, 2) == size_max);
static_assert(multiply(std::size_t{1} << 32, std::size_t{1} << 32) == size_max);
static_assert(add(size_max, 1) == size_max && add(1, 2) == 3 && add(size_max, 0) == size_max);

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(blocks)

template <class Geometry>
void check_blocks(const Geometry& g, const dynamic_size& size, std::size_t min_block, std::size_t prefix, std::size_t suffix,
                  std::size_t links = 0) {
  BOOST_TEST(g.block_size() == size.bytes());
  BOOST_TEST(g.block_alignment() == size.alignment());
  BOOST_TEST(g.alignment() % size.alignment() == 0);
  BOOST_TEST(g.stride() % g.alignment() == 0);
  BOOST_TEST(g.offset() % g.alignment() == 0);
  BOOST_TEST(g.offset() >= prefix);
  BOOST_TEST(g.offset() < prefix + g.alignment());
  BOOST_TEST(g.payload() >= std::max(size.bytes(), min_block));
  BOOST_TEST(g.offset() + g.payload() + suffix <= g.stride());
  BOOST_TEST(g.stride() - (g.offset() + g.payload() + suffix) < g.alignment());  // no more padding than needed
  BOOST_TEST(g.chunk_alignment() % g.alignment() == 0);
  BOOST_TEST(is_power_of_two(g.chunk_alignment()));
  BOOST_TEST(g.words() == (links == 0 ? g.payload() : links) / sizeof(void*));
}
BOOST_AUTO_TEST_CASE(have_their_size_their_alignment_and_room_for_what_is_around_them) {
  for_each_layout([](const dynamic_size& size) {
    check_blocks(plain(size), size, 8, 0, 0);
    check_blocks(framed(size), size, 16, 24, 5);
    check_blocks(kept(size), size, 1, 32, 16, 16);
  });
}
BOOST_AUTO_TEST_CASE(hold_lists_in_their_payload) {
  for_each_layout([](const dynamic_size& size) {
    alignas(4096) std::byte slot[1];
    BOOST_TEST(plain(size).links(slot) == slot);
    BOOST_TEST(plain(size).block_with(slot) == slot);
    BOOST_TEST(framed(size).links(slot) == slot);
    BOOST_TEST(framed(size).block_with(slot) == slot);
  });
}
BOOST_AUTO_TEST_CASE(whose_payload_is_left_alone_hold_lists_at_the_start_of_their_slot) {
  alignas(4096) static std::byte slot[2 * 4096];
  for_each_layout([](const dynamic_size& size) {
    const kept g(size);
    std::byte* const block = slot + g.offset();
    BOOST_TEST(g.links(block) == slot);
    BOOST_TEST(g.block_with(slot) == block);
    BOOST_TEST(reinterpret_cast<std::size_t>(g.links(block)) % alignof(void*) == 0);
    BOOST_TEST(g.offset() >= g.words() * sizeof(void*) + 16);  // what checking has in front lies between
  });
}
BOOST_AUTO_TEST_CASE(are_disjoint_and_aligned_in_every_chunk) {
  for_each_layout([](const dynamic_size& size) {
    const plain g(size);
    BOOST_TEST(g.distance(0) == 0);
    const std::size_t n = std::min<std::size_t>(2000, 4 * colour_run / g.stride() + 4);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t step = g.distance(i + 1) - g.distance(i);
      if (step < g.stride() || step > g.stride() + cache_line || g.distance(i) % g.alignment() != 0)
        BOOST_ERROR("slot " << i << " at " << g.distance(i) << ", the next " << step << " bytes on");
    }
  });
}
/// Those of a chunk that starts at an address of no memory: nothing is touched.
void check_written(const plain& g, std::size_t from, std::size_t n, tarn::test::called_from = {}) {
  auto* const start = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40);
  std::vector<void*> got(n + 1);
  g.write_blocks(got.data(), start, from, n);
  BOOST_TEST(got[n] == nullptr);
  for (std::size_t i = 0; i != n; ++i)
    if (got[i] != start + g.distance(from + i)) BOOST_ERROR("block " << i << " of " << n << " from slot " << from);
}
BOOST_AUTO_TEST_CASE(are_written_down_many_at_a_time) {
  for_each_layout([](const dynamic_size& size) {
    const plain g(size);
    const std::size_t run = clamped(colour_run / g.stride(), 1, 512);  // slots
    for (const std::size_t from : {std::size_t{0}, run - 1, run, 3 * run + 1})
      for (const std::size_t n : {std::size_t{0}, std::size_t{1}, run, 2 * run + 3}) check_written(g, from, n);
  });
}
BOOST_AUTO_TEST_CASE(are_coloured_once_in_64_kib_where_the_stride_is_a_large_power_of_two) {
  for_each_layout([](const dynamic_size& size) {
    const plain g(size);
    const bool large_power = g.stride() >= 128 && is_power_of_two(g.stride()) && g.alignment() <= 64;
    BOOST_TEST(g.coloured() == large_power);
    const std::size_t n = 8 * std::max<std::size_t>(1, colour_run / g.stride());  // slots in 8 runs
    const std::size_t extra = g.distance(n) - n * g.stride();
    BOOST_TEST(extra == (large_power ? 8 * cache_line : 0));
  });
}
BOOST_AUTO_TEST_CASE(end_where_extent_and_bytes_of_say) {
  const auto check = [](const auto& g) {
    BOOST_TEST(g.extent(0) == 0);
    for (const std::size_t n : counts) {
      BOOST_TEST(g.extent(n) == g.distance(n - 1) + g.stride());
      BOOST_TEST(g.bytes_of(n) == g.extent(n));
    }
  };
  for_each_layout([&](const dynamic_size& size) {
    check(plain(size));
    check(framed(size));
    check(kept(size));
  });
}

/// Every byte of the first slots, and of far ones the first, one between and the last, lies in its slot; what a colour leaves
/// free is the last slot's of its run. A slot starts at its first byte only.
template <class Geometry>
void check_slots_around(const Geometry& g, tarn::test::called_from = {}) {
  const auto is_a_slot = [&](std::size_t slot) { return slot <= size_max / g.stride(); };
  std::size_t wrong = 0;
  const std::size_t few = clamped(4096 / g.stride(), 1, 3);
  for (std::size_t i = 0; i != few; ++i)
    for (std::size_t at = g.distance(i); at != g.distance(i + 1); ++at) {
      wrong += g.slot_around(at) != i;
      wrong += at == g.distance(i) ? g.slot_at(at) != i : is_a_slot(g.slot_at(at));
    }
  std::mt19937_64 random(1);
  const auto check = [&](std::size_t i) {
    const std::size_t last = g.distance(i + 1) - 1;
    for (const std::size_t at : {g.distance(i), g.distance(i) + random() % g.stride(), g.distance(i) + g.stride() - 1, last}) {
      wrong += g.slot_around(at) != i;
      wrong += at == g.distance(i) ? g.slot_at(at) != i : is_a_slot(g.slot_at(at));
    }
  };
  for (std::size_t i = 0; i != std::min<std::size_t>(2000, 4 * colour_run / g.stride() + 4); ++i) check(i);
  for (int n = 0; n != 200; ++n) check(random() >> (random() % 30 + 34));
  for (const std::size_t far : {size_max, size_max - 1, size_max / 2 + 1})
    wrong += is_a_slot(g.slot_at(far)) && g.distance(g.slot_at(far)) != far;
  BOOST_TEST(wrong == 0u);
}
template <std::size_t Bytes, std::size_t Align = 1, block_shape Shape = block_shape{}>
void check_fixed() {
  check_slots_around(geometry<tarn::static_size<Bytes, Align>, Shape>());
}
BOOST_AUTO_TEST_CASE(have_all_their_bytes_in_their_slot) {
  for_each_layout([](const dynamic_size& size) {
    check_slots_around(plain(size));
    check_slots_around(framed(size));
    check_slots_around(kept(size));
  });
  check_fixed<1>();
  check_fixed<24, 8>();
  check_fixed<100, 4>();
  check_fixed<192, 64>();
  check_fixed<128, 128>();
  check_fixed<128, 64>();
  check_fixed<4096, 64>();
  check_fixed<65536>();  // each slot is a run of colours
  check_fixed<131072>();
  check_fixed<40, 8, block_shape{8, 8, 16, 4}>();
  check_fixed<200, 8, block_shape{8, 8, 24, 32}>();  // 256 in all, coloured
}

/// As processors that can't divide have it.
template <std::size_t Stride>
void check_quotients() {
  std::size_t wrong = 0;
  const exact_divisor by(Stride);
  for (const std::size_t from : {std::size_t{0}, size_max / 2 - 5000, size_max - 10000})
    for (std::size_t n = from; n != from + 10000; ++n) {
      wrong += n % Stride == 0 ? exact_quotient<Stride>(n) != n / Stride : exact_quotient<Stride>(n) <= size_max / Stride;
      wrong += by.quotient(n) != exact_quotient<Stride>(n);
    }
  BOOST_TEST(wrong == 0u);
}
BOOST_AUTO_TEST_CASE(have_quotients_without_a_division) {
  check_quotients<1>();
  check_quotients<2>();
  check_quotients<48>();
  check_quotients<57>();
  check_quotients<64>();
  check_quotients<1000>();
  check_quotients<4096>();
}

BOOST_AUTO_TEST_CASE(that_cannot_be_have_no_extent) {
  for_each_layout([](const dynamic_size& size) {
    const plain g(size);
    BOOST_TEST(g.extent(size_max) == size_max);
    BOOST_TEST(g.extent(size_limit / g.stride() + 1) == size_max);
    const std::size_t most = size_limit / (g.stride() + cache_line);
    BOOST_TEST(g.extent(most) <= size_limit);
    BOOST_TEST(g.extent(most) >= g.extent(most - 1));
  });
  BOOST_TEST(plain(dynamic_size(size_limit - 4096, 1)).extent(2) == size_max);
}

template <block_shape Shape>
void check_stored(const dynamic_size& size, tarn::test::called_from = {}) {
  const stored_layout<dynamic_size, Shape> stored(size);
  const computed_layout<dynamic_size, Shape> computed(size);
  BOOST_TEST(stored.block_size() == computed.block_size());
  BOOST_TEST(stored.block_alignment() == computed.block_alignment());
  BOOST_TEST(stored.alignment() == computed.alignment());
  BOOST_TEST(stored.payload() == computed.payload());
  BOOST_TEST(stored.offset() == computed.offset());
  BOOST_TEST(stored.stride() == computed.stride());
  BOOST_TEST(stored.chunk_alignment() == computed.chunk_alignment());
  BOOST_TEST(stored.coloured() == computed.coloured());
  BOOST_TEST(stored.run_shift() == computed.run_shift());
}
BOOST_AUTO_TEST_CASE(have_their_layout_stored_as_it_is_computed) {
  for_each_layout([](const dynamic_size& size) {
    check_stored<plain_shape>(size);
    check_stored<framed_shape>(size);
    check_stored<kept_shape>(size);
  });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(chunks)

template <class Reuse, class Growth, class Store, class Checking = tarn::no_checking>
using traits_of =
    typename tarn::test::anatomy<tarn::pool<dynamic_size, tarn::no_locking, Growth, Store, Reuse, Checking>>::traits;

/// The largest n, at most `at_most`, with bytes(n) <= room, and nothing else.
template <class Traits>
void check_blocks_in(std::size_t room, std::size_t at_most, const typename Traits::geometry& g,
                     tarn::test::called_from = {}) {
  using layout = typename Traits::layout;
  const std::size_t n = layout::blocks_in(room, at_most, g);
  if (n > at_most || (n != 0 && layout::bytes(n, g) > room) || (n != at_most && layout::bytes(n + 1, g) <= room))
    BOOST_ERROR("blocks_in(" << room << ", " << at_most << ") is " << n << ", which takes " << layout::bytes(n, g)
                             << ", one more " << layout::bytes(n + 1, g));
}

template <class Traits>
void check_chunks(tarn::test::called_from = {}) {
  using layout = typename Traits::layout;
  for_each_layout([](const dynamic_size& size) {
    const typename Traits::geometry g(size);
    std::size_t before = 0;
    for (const std::size_t n : counts) {
      const std::size_t bytes = layout::bytes(n, g);
      BOOST_TEST(bytes > before);
      before = bytes;
      BOOST_TEST(layout::first_offset(n, g) % Traits::least_alignment(g) == 0);
      BOOST_TEST(layout::first_offset(n, g) + g.extent(n) <= bytes);
      BOOST_TEST(layout::blocks_in(bytes, tarn::unlimited, g) == n);
      for (const std::size_t at_most : {tarn::unlimited, n + 1, n, n - 1, std::size_t{1}}) {
        check_blocks_in<Traits>(bytes - 1, at_most, g);
        check_blocks_in<Traits>(bytes, at_most, g);
        check_blocks_in<Traits>(bytes + 1, at_most, g);
        check_blocks_in<Traits>(bytes + g.stride() - 1, at_most, g);
        check_blocks_in<Traits>(bytes + 5 * g.stride() + 300, at_most, g);
      }
    }
    for (std::size_t room = 0; room < 700; room += 7) check_blocks_in<Traits>(room, tarn::unlimited, g);
  });
}
BOOST_AUTO_TEST_CASE(hold_as_many_blocks_as_fit_beside_a_front_and_what_is_known_of_each) {
  check_chunks<traits_of<tarn::lifo_reuse<>, tarn::geometric_growth<>, tarn::heap_store>>();
  check_chunks<traits_of<tarn::batch_reuse<>, tarn::geometric_growth<>, tarn::heap_store>>();
  check_chunks<traits_of<tarn::lifo_reuse<>, tarn::geometric_growth<>, tarn::heap_store, tarn::hardened>>();
  check_chunks<traits_of<tarn::page_local_reuse<>, tarn::no_growth<>, tarn::buffer_store, tarn::checked>>();
}
/// A heap whose regions start as far behind a cache line as is said beforehand, and end where the memory ends.
struct skewed_heap {
  using axis = tarn::axis::store;
  static constexpr tarn::store_traits traits{.own_apart = true, .cheap_alignment = 16};
  static inline std::size_t skew;
  static inline std::size_t asked;  // the alignment
  static inline memory region;

  template <class Traits>
  struct source {
    constexpr explicit source(const skewed_heap&) noexcept {}
    memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      asked = alignment;
      if (alignment > 16) region = {::operator new(bytes, std::align_val_t{alignment}), bytes};
      else region = {static_cast<std::byte*>(::operator new(skew + bytes, std::align_val_t{64})) + skew, bytes};
      return region;
    }
    memory acquire_own(std::size_t bytes, std::size_t alignment) noexcept {
      return {::operator new(bytes, std::align_val_t{alignment}), bytes};
    }
    void release_own(memory its, std::size_t alignment) noexcept {
      ::operator delete(its.start, std::align_val_t{alignment});
    }
    void release(memory its, std::size_t alignment) noexcept {
      BOOST_TEST((alignment == asked && its.start == region.start && its.bytes == region.bytes));
      if (alignment > 16) ::operator delete(its.start, std::align_val_t{alignment});
      else ::operator delete(static_cast<std::byte*>(its.start) - skew, std::align_val_t{64});
    }
  };
};
template <class Reuse, class Growth, class... Checking>
void check_first_block() {
  using pool_type = tarn::pool<dynamic_size, Growth, skewed_heap, Reuse, Checking...>;
  using traits = typename tarn::test::anatomy<pool_type>::traits;
  for_each_layout([](const dynamic_size& size) {
    const typename traits::geometry g(size);
    const std::size_t wanted = g.chunk_alignment();
    for (skewed_heap::skew = 0; skewed_heap::skew != 64 && g.stride() < 10'000; skewed_heap::skew += 16) {
      pool_type pool{size};
      std::vector<std::byte*> blocks;
      while (void* const b = pool.try_allocate()) blocks.push_back(static_cast<std::byte*>(b));
      for (std::byte* const b : blocks) std::fill_n(b, size.bytes(), std::byte{0xAA});
      BOOST_TEST_REQUIRE(blocks.size() == 10u);
      const auto [low, high] = std::minmax_element(blocks.begin(), blocks.end());
      const std::byte* const first = *low - g.offset();
      const auto* const start = static_cast<std::byte*>(skewed_heap::region.start);
      const bool is_cheap = wanted <= 64 && skewed_heap::region.bytes <= 64 * 1024;
      BOOST_TEST(skewed_heap::asked == (is_cheap ? std::min<std::size_t>(wanted, 16) : std::max<std::size_t>(wanted, 64)));
      BOOST_TEST(address_of(first) % wanted == 0);
      BOOST_TEST(first >= start + traits::layout::record_bytes());
      BOOST_TEST(first + g.extent(10) <= start + skewed_heap::region.bytes);
      BOOST_TEST((*high - *low) == static_cast<std::ptrdiff_t>(g.distance(9)));
      for (std::byte* const b : blocks) pool.deallocate(b);
    }
  });
}
BOOST_AUTO_TEST_CASE(align_their_first_block_themselves_where_the_heap_would_do_that_dearly) {
  check_first_block<tarn::lifo_reuse<>, tarn::fixed_growth<10, 10>>();
  check_first_block<tarn::batch_reuse<>, tarn::no_growth<10>>();
  check_first_block<tarn::lifo_reuse<>, tarn::fixed_growth<10, 10>, tarn::hardened>();
}
template <std::size_t Blocks>
std::size_t alignment_asked() {
  skewed_heap::skew = 0;
  tarn::pool<tarn::static_size<48>, tarn::fixed_growth<Blocks>, skewed_heap> pool;
  pool.deallocate(pool.allocate());
  return skewed_heap::asked;
}
BOOST_AUTO_TEST_CASE(that_are_large_are_requested_at_cache_lines_so_that_glibc_keeps_them) {
  BOOST_TEST(alignment_asked<1000>() == 16u);
  BOOST_TEST(alignment_asked<2000>() == 64u);
}
BOOST_AUTO_TEST_CASE(that_are_all_blocks_hold_as_many_as_fit) {
  using buffer = traits_of<tarn::lifo_reuse<>, tarn::no_growth<>, tarn::buffer_store>;
  static_assert(buffer::one_chunk && buffer::layout::record_bytes() == 0);
  check_chunks<buffer>();
  for_each_layout([](const dynamic_size& size) {
    const buffer::geometry g(size);
    BOOST_TEST(buffer::layout::first_offset(100, g) == 0);
    BOOST_TEST(buffer::chunk_alignment(g) == g.alignment());
  });
}
BOOST_AUTO_TEST_CASE(that_cannot_be_have_no_size) {
  using heap = traits_of<tarn::lifo_reuse<>, tarn::geometric_growth<>, tarn::heap_store>;
  for_each_layout([](const dynamic_size& size) {
    const heap::geometry g(size);
    BOOST_TEST(heap::layout::bytes(size_max, g) == size_max);
    BOOST_TEST(heap::layout::bytes(size_limit / g.stride() + 1, g) == size_max);
    check_blocks_in<heap>(size_limit, tarn::unlimited, g);
    check_blocks_in<heap>(0, tarn::unlimited, g);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

// malloc's family over pools, with memory from the heap. xmalloc_static_test.cc is its twin without a heap.
//
// `defect_N`, here and in the other tests of products, is a defect that a study found in other libraries, by its number there.
// Those after which no case is named, and what would see them in ours:
//
//    1  a pool that doesn't compile                   test/platforms/warnings/policies.cc
//    2  one failed system call hangs threads          defect_8_...; fault_injection_test.cc
//    3  a handler runs under the pool's lock          locking_test.cc: stores run under the growth lock only
//    4  recycling without a lock                      locking_test.cc, under the thread sanitizer
//    6  a build without threads that doesn't compile  check_headers.py: every header compiles alone
//   17  a reserve that is dropped                     conformance_test.cc: reserve()
//   18  hosted code in a freestanding build           tarn is not for freestanding builds
//   21  a swallowed failure, then a crash             defect_8_...; memory_resource_test.cc
//   22  memory grows with the threads that came       memory_resource_threads_test.cc
//   23  a pair costs more with more live blocks       bench/; random_order_test.cc
//   26  an allocator that returns null, always equal  stl_allocator_test.cc
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "tarn/allocator/xmalloc.h"
#include "tarn/policies/retention.h"
#include "tarn/test/allocator/live_blocks.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/model.h"

namespace tarn::test {
namespace {

// ---- other allocators: a heap of their own, that fails on demand ------------------------------------------------------------

template <class Tag>
struct failing_store {
  using axis = tarn::axis::store;
  static constexpr tarn::store_traits traits{};
  static inline std::size_t calls_left = static_cast<std::size_t>(-1);  // then they fail
  static inline std::size_t largest = static_cast<std::size_t>(-1);     // bytes; for more, they fail
  static inline std::size_t failures = 0;
  static inline std::size_t bytes = 0;  // outstanding

  template <class Traits>
  struct source : heap_store::source<Traits> {
    using base = heap_store::source<Traits>;
    constexpr explicit source(const failing_store&) noexcept : base(heap_store{}) {}
    detail::memory acquire(std::size_t wanted, std::size_t alignment) noexcept {
      if (calls_left == 0 || wanted > largest) {
        ++failures;
        return {};
      }
      --calls_left;
      const detail::memory region = base::acquire(wanted, alignment);
      bytes += region.bytes;
      return region;
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      bytes -= region.bytes;
      base::release(region, alignment);
    }
  };
};

/// Everything that is counted, in one row: blocks in use and blocks ever handed out.
template <class Allocator>
pool_counts total() {
  const auto all = Allocator::statistics();
  pool_counts sum;
  for (const auto& row : all.by_class) {
    sum.in_use += row.counts.in_use;
    sum.peak += row.counts.peak;
    sum.allocations += row.counts.allocations;
    sum.chunks += row.counts.chunks;
    sum.bytes += row.counts.bytes;
  }
  return sum;
}

std::size_t in_use() {
  const auto all = xmalloc_statistics();
  std::size_t blocks = all.large.blocks;
  for (const auto& row : all.by_class) blocks += row.counts.in_use;
  return blocks;
}

bool aligned(const void* block, std::size_t alignment = 16) { return reinterpret_cast<std::uintptr_t>(block) % alignment == 0; }

bool holds(const void* block, int byte, std::size_t bytes) {
  const auto* const b = static_cast<const unsigned char*>(block);
  return std::all_of(b, b + bytes, [=](unsigned char c) { return c == static_cast<unsigned char>(byte); });
}

// ---- xmalloc, xfree ---------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(defect_7_every_payload_is_aligned_to_16) {
  std::vector<void*> all;
  for (std::size_t bytes = 0; bytes <= 10'000; bytes += bytes < 1100 ? 1 : 61)
    for (int i = 0; i < 3; ++i) {
      void* const block = xmalloc(bytes);
      BOOST_REQUIRE(block != nullptr);
      BOOST_REQUIRE(aligned(block));
      BOOST_REQUIRE(xmalloc_usable_size(block) >= bytes);
      std::memset(block, 0xAB, xmalloc_usable_size(block));  // all of it is the caller's
      all.push_back(block);
    }
  std::vector<std::pair<std::uintptr_t, std::size_t>> places;
  for (void* const block : all) places.emplace_back(reinterpret_cast<std::uintptr_t>(block), xmalloc_usable_size(block));
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i) BOOST_REQUIRE(places[i - 1].first + places[i - 1].second <= places[i].first);
  for (void* const block : all) xfree(block);
  BOOST_TEST(in_use() == 0u);
}

BOOST_AUTO_TEST_CASE(blocks_of_no_bytes_have_addresses_of_their_own) {
  std::set<void*> all;
  for (int i = 0; i < 300; ++i) {
    void* const block = xmalloc(0);
    BOOST_REQUIRE(block != nullptr);
    BOOST_TEST(all.insert(block).second);
  }
  for (void* const block : all) xfree(block);
  BOOST_TEST(in_use() == 0u);
}

BOOST_AUTO_TEST_CASE(null_is_left_alone) {
  xfree(nullptr);
  xfree_sized(nullptr, 100);
  BOOST_TEST(xmalloc_usable_size(nullptr) == 0u);
  BOOST_TEST(in_use() == 0u);
}

BOOST_AUTO_TEST_CASE(usable_sizes) {
  for (const auto& [bytes, usable] : {std::pair<std::size_t, std::size_t>{0, 16},
                                      {1, 16},
                                      {16, 16},
                                      {17, 32},
                                      {100, 112},
                                      {128, 128},
                                      {129, 160},
                                      {200, 224},
                                      {4096, 4096},
                                      {4097, 5120},
                                      {32'768, 32'768},
                                      {32'769, 32'769},
                                      {100'000, 100'000}}) {
    void* const block = xmalloc(bytes);
    BOOST_TEST(xmalloc_usable_size(block) == usable);
    xfree_sized(block, bytes);
  }
  BOOST_TEST(in_use() == 0u);
}

// ---- xrealloc ---------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(xrealloc_of_null_and_to_nothing) {
  void* const block = xrealloc(nullptr, 100);
  BOOST_TEST(xmalloc_usable_size(block) == 112u);
  BOOST_TEST(in_use() == 1u);
  BOOST_TEST(xrealloc(block, 0) == nullptr);
  BOOST_TEST(in_use() == 0u);
  void* const none = xrealloc(nullptr, 0);  // as xmalloc(0)
  BOOST_TEST(none != nullptr);
  BOOST_TEST(xrealloc(none, 0) == nullptr);
  BOOST_TEST(in_use() == 0u);
}

BOOST_AUTO_TEST_CASE(xrealloc_stays_where_the_block_has_room) {
  void* const block = xmalloc(200);  // of 224
  for (const std::size_t bytes : {201u, 224u, 1u, 100u, 224u}) BOOST_TEST(xrealloc(block, bytes) == block);
  xfree(block);
  for (const std::size_t all : {10'240u, 100'000u}) {
    void* const large = xmalloc(all);
    for (const std::size_t bytes : {all - 1, all / 2 + 1, all}) BOOST_TEST(xrealloc(large, bytes) == large);
    void* const half = xrealloc(large, all / 2);  // half of it would lie idle
    BOOST_TEST(half != large);
    BOOST_TEST(xmalloc_usable_size(half) == all / 2);
    xfree(half);
  }
  BOOST_TEST(in_use() == 0u);
}

BOOST_AUTO_TEST_CASE(xrealloc_takes_the_content_along) {
  constexpr std::size_t sizes[] = {0, 1, 16, 17, 100, 4096, 4097, 8000, 20'000, 200'000};
  for (const std::size_t from : sizes)
    for (const std::size_t to : sizes) {
      if (to == 0) continue;
      void* block = xmalloc(from);
      const std::size_t had = xmalloc_usable_size(block);
      std::memset(block, 0x5A, had);
      block = xrealloc(block, to);
      BOOST_REQUIRE(block != nullptr);
      BOOST_TEST(aligned(block));
      BOOST_TEST(xmalloc_usable_size(block) >= to);
      BOOST_TEST(holds(block, 0x5A, std::min(from, to)));
      std::memset(block, 0, to);
      xfree(block);
    }
  BOOST_TEST(in_use() == 0u);
}

BOOST_AUTO_TEST_CASE(an_array_that_grows_in_small_steps_is_moved_seldom) {
  constexpr std::size_t last = 200'000;
  int moves = 0;
  std::size_t copied = 0;
  void* block = xmalloc(1);
  for (std::size_t bytes = 17; bytes <= last; bytes += 16) {
    const std::size_t had = xmalloc_usable_size(block);
    void* const other = xrealloc(block, bytes);
    BOOST_REQUIRE(other != nullptr);
    if (bytes > had) {
      ++moves;
      copied += had;
    }
    block = other;
  }
  BOOST_TEST(moves < 60);  // 39 classes, and a quarter more each time
  BOOST_TEST(copied < 6 * last);
  BOOST_TEST(xmalloc_usable_size(block) < last + last / 4 + 64);
  xfree(block);
  BOOST_TEST(in_use() == 0u);
}

BOOST_AUTO_TEST_CASE(xrealloc_that_fails_keeps_the_block) {
  void* const block = xmalloc(100);
  std::memset(block, 0x77, 100);
  constexpr auto most = static_cast<std::size_t>(-1);
  for (const std::size_t bytes : {most, most - 64, most / 2 + 5}) BOOST_TEST(xrealloc(block, bytes) == nullptr);
  BOOST_TEST(holds(block, 0x77, 100));
  BOOST_TEST(in_use() == 1u);
  xfree(block);

  using store = failing_store<struct keeps>;
  using other = xallocator<struct keeps, store>;
  for (const std::size_t bytes : {50u, 90'000u}) {
    void* const kept = other::allocate(bytes);
    std::memset(kept, 0x66, bytes);
    store::calls_left = 0;
    BOOST_TEST(other::reallocate(kept, 200'000) == nullptr);
    BOOST_TEST(other::reallocate(kept, 3'000) == nullptr);
    BOOST_TEST(holds(kept, 0x66, bytes));
    store::calls_left = static_cast<std::size_t>(-1);
    void* const moved = other::reallocate(kept, 200'000);
    BOOST_TEST(holds(moved, 0x66, bytes));
    other::deallocate(moved);
    other::trim();  // it is kept for the next
  }
  BOOST_TEST(store::failures >= 4u);
  other::trim();
  BOOST_TEST(store::bytes == 0u);
}

// The store may take a thousand times as long: a malloc maps what is aligned so much.
BOOST_AUTO_TEST_CASE(a_large_block_comes_from_one_that_was_freed) {
  using store = failing_store<struct large>;
  using other = xallocator<struct large, store>;
  std::vector<void*> all(32);
  for (const std::size_t bytes : {40'000u, 65'536u, 100'000u, 1'000'000u}) {
    for (void*& b : all) b = other::allocate(bytes);
    store::calls_left = 0;
    for (std::size_t i = 0; i != 300; ++i) {
      void*& b = all[i * 7 % all.size()];
      std::memset(b, static_cast<int>(i), bytes - 300);
      other::deallocate(b);
      b = i % 2 == 0 ? other::allocate(bytes) : other::allocate_aligned(256, bytes - 300);
      BOOST_TEST_REQUIRE(b != nullptr, bytes << " bytes, step " << i);
      REQUIRE(aligned(b, i % 2 == 0 ? 16 : 256));
      REQUIRE(other::usable_size(b) >= bytes - 300);
    }
    store::calls_left = static_cast<std::size_t>(-1);
    for (void* const b : all) other::deallocate(b);
    BOOST_TEST(store::bytes <= 8u * 1024 * 1024 + 70'000u);  // what is kept, and a granule
    BOOST_TEST(other::statistics().large.blocks == 0u);
    BOOST_TEST(other::trim() != 0u);
    BOOST_TEST(store::bytes == 0u);
  }
  BOOST_TEST(store::failures == 0u);
}
BOOST_AUTO_TEST_CASE(a_smaller_one_of_the_same_bin_hides_none_that_is_large_enough) {
  using store = failing_store<struct same_bin>;
  using other = xallocator<struct same_bin, store>;
  std::vector<void*> all;
  for (const std::size_t bytes : {100'000u, 99'000u, 99'500u}) all.push_back(other::allocate(bytes));
  for (void* const b : all) other::deallocate(b);
  store::calls_left = 0;
  void* const block = other::allocate(100'000);
  BOOST_TEST(block == all[0]);
  store::calls_left = static_cast<std::size_t>(-1);
  other::deallocate(block);
  other::trim();
  BOOST_TEST(store::bytes == 0u);
}
BOOST_AUTO_TEST_CASE(a_large_block_comes_from_a_much_larger_one_as_long_as_those_have_few_bytes_too_many) {
  using store = failing_store<struct much_larger>;
  using other = xallocator<struct much_larger, store>;
  for (int round = 0; round != 3; ++round) {
    void* const large[] = {other::allocate(3'900'000), other::allocate(3'900'000)};
    for (void* const b : large) other::deallocate(b);
    store::calls_left = 0;
    void* const first = other::allocate(40'000);
    BOOST_TEST(other::usable_size(first) >= 3'900'000u);
    BOOST_TEST(other::allocate(40'000) == nullptr);  // 4 MiB too many in all; and what was kept has gone back
    other::deallocate(first);
    void* const again = other::allocate(40'000);
    BOOST_TEST(again == first);
    store::calls_left = static_cast<std::size_t>(-1);
    other::deallocate(again);
    other::trim();
    BOOST_TEST(store::bytes == 0u);
  }
}
BOOST_AUTO_TEST_CASE(a_block_that_no_granule_has_room_for_is_a_large_one) {
  using other = xallocator<struct wide, heap_store, geometric_classes<16, 65536>>;
  BOOST_TEST(other::statistics().by_class.size() == 43u);  // to 57,344
  for (const std::size_t bytes : {57'344u, 57'345u, 65'536u}) {
    void* const block = other::allocate(bytes);
    BOOST_TEST_REQUIRE(block != nullptr);
    BOOST_TEST(other::statistics().large.blocks == (bytes > 57'344 ? 1u : 0u));
    other::deallocate(block);
  }
}
// Against a model: whatever is kept, of whatever sizes, blocks don't overlap, and no more stays than is said.
BOOST_AUTO_TEST_CASE(large_blocks_of_random_sizes_stay_apart) {
  using store = failing_store<struct random_large>;
  using other = xallocator<struct random_large, store>;
  std::mt19937_64 random(seed());
  std::map<std::uintptr_t, std::size_t> all;
  for (int i = 0; i != 4000; ++i) {
    if (all.size() < 24) {
      const std::size_t bytes = (std::size_t{1} << random() % 9) * (33'000 + random() % 33'000);
      const std::size_t alignment = std::size_t{16} << random() % 14;
      auto* const b = static_cast<unsigned char*>(other::allocate_aligned(alignment, bytes));
      REQUIRE(b != nullptr && aligned(b, alignment) && other::usable_size(b) >= bytes);
      const auto at = reinterpret_cast<std::uintptr_t>(b);
      const auto next = all.lower_bound(at);
      REQUIRE(next == all.end() || at + other::usable_size(b) <= next->first);
      REQUIRE(next == all.begin() || std::prev(next)->first + std::prev(next)->second <= at);
      b[0] = b[bytes - 1] = static_cast<unsigned char>(bytes % 251);
      all.emplace(at, bytes);
    } else {
      const auto one = std::next(all.begin(), static_cast<std::ptrdiff_t>(random() % all.size()));
      const auto* const b = reinterpret_cast<const unsigned char*>(one->first);
      REQUIRE(b[0] == one->second % 251 && b[one->second - 1] == one->second % 251);
      other::deallocate(const_cast<unsigned char*>(b));
      all.erase(one);
    }
    const std::size_t held = other::statistics().large.bytes;
    REQUIRE(store::bytes >= held && store::bytes <= held + 8u * 1024 * 1024 + 70'000u);  // and a granule
  }
  for (const auto& one : all) other::deallocate(reinterpret_cast<void*>(one.first));
  BOOST_TEST(other::statistics().large.bytes == 0u);
  other::trim();
  BOOST_TEST(store::bytes == 0u);
}
BOOST_AUTO_TEST_CASE(what_is_kept_of_large_blocks_goes_where_the_store_refuses) {
  using store = failing_store<struct kept_large>;
  using other = xallocator<struct kept_large, store>;
  for (const std::size_t wanted : {std::size_t{100}, std::size_t{300'000}}) {
    other::deallocate(other::allocate(50'000));
    const std::size_t before = store::bytes;
    store::calls_left = 0;
    BOOST_TEST(other::allocate(wanted) == nullptr);
    BOOST_TEST(store::bytes < before);
    store::calls_left = static_cast<std::size_t>(-1);
  }
  other::trim();
  BOOST_TEST(store::bytes == 0u);
}
BOOST_AUTO_TEST_CASE(where_memory_goes_back_at_once_no_large_block_is_kept) {
  using store = failing_store<struct returns_all>;
  using other = xallocator<struct returns_all, store, mutex_locking<>, return_empty_chunks<0, 0>>;
  other::deallocate(other::allocate(50'000));
  BOOST_TEST(store::bytes == 0u);
}

BOOST_AUTO_TEST_CASE(xrealloc_does_with_what_it_was_asked_for) {  // where there is no memory for a quarter more
  using store = failing_store<struct barely>;
  using other = xallocator<struct barely, store>;
  void* const block = other::allocate(1'000'000);
  std::memset(block, 0x55, 1'000'000);
  store::largest = 1'200'000;
  void* const moved = other::reallocate(block, 1'100'000);
  store::largest = static_cast<std::size_t>(-1);
  BOOST_TEST(store::failures == 1u);
  BOOST_REQUIRE(moved != nullptr);
  BOOST_TEST(other::usable_size(moved) >= 1'100'000u);
  BOOST_TEST(holds(moved, 0x55, 1'000'000));
  other::deallocate(moved);
}

// ---- xcalloc ----------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(xcalloc_is_zero_also_in_used_blocks) {
  for (const std::size_t bytes : {1u, 16u, 40u, 1000u, 4096u, 9000u}) {
    std::vector<void*> all;
    for (int i = 0; i < 100; ++i) {
      all.push_back(xmalloc(bytes));
      std::memset(all.back(), 0xFF, bytes);
    }
    for (void* const block : all) xfree(block);
    for (void*& block : all) {
      block = xcalloc(bytes, 1);
      BOOST_TEST(holds(block, 0, bytes));
      std::memset(block, 0xFF, bytes);
    }
    for (void* const block : all) xfree(block);
    void* const rows = xcalloc(7, bytes);
    BOOST_TEST(holds(rows, 0, 7 * bytes));
    BOOST_TEST(xmalloc_usable_size(rows) >= 7 * bytes);
    xfree(rows);
  }
  for (const auto& [count, bytes] : {std::pair<std::size_t, std::size_t>{0, 0}, {0, 8}, {8, 0}}) {
    void* const none = xcalloc(count, bytes);
    BOOST_TEST(none != nullptr);
    xfree(none);
  }
  BOOST_TEST(in_use() == 0u);
}

BOOST_AUTO_TEST_CASE(xcalloc_does_not_wrap) {
  constexpr auto most = static_cast<std::size_t>(-1);
  for (const auto& [count, bytes] : {std::pair<std::size_t, std::size_t>{most, 2},
                                     {2, most},
                                     {most / 2 + 2, 2},
                                     {most, most},
                                     {std::size_t{1} << 32, std::size_t{1} << 32},
                                     {most / 16 + 2, 16},
                                     {3, most / 3 + 6}})
    BOOST_TEST(xcalloc(count, bytes) == nullptr);
  BOOST_TEST(in_use() == 0u);
}

// ---- xaligned_alloc ---------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(xaligned_alloc_aligns) {
  std::vector<std::pair<void*, std::size_t>> all;
  for (std::size_t alignment = 1; alignment <= 1024 * 1024; alignment *= 2)
    for (const std::size_t bytes : {0u, 1u, 24u, 100u, 4000u, 4096u, 5000u, 100'000u}) {
      void* const block = xaligned_alloc(alignment, bytes);
      BOOST_REQUIRE(block != nullptr);
      BOOST_TEST(aligned(block, std::max<std::size_t>(alignment, 16)));
      BOOST_TEST(xmalloc_usable_size(block) >= bytes);
      std::memset(block, static_cast<int>(all.size() % 256), bytes);
      all.emplace_back(block, bytes);
    }
  for (std::size_t i = 0; i < all.size(); ++i) {
    BOOST_TEST(holds(all[i].first, static_cast<int>(i % 256), all[i].second));
    if (i % 2 == 0) xfree(all[i].first);
    else all[i].first = xrealloc(all[i].first, all[i].second + 5000);
  }
  for (std::size_t i = 1; i < all.size(); i += 2) {
    BOOST_TEST(holds(all[i].first, static_cast<int>(i % 256), all[i].second));
    xfree_sized(all[i].first, all[i].second);
  }
  BOOST_TEST(in_use() == 0u);
}

BOOST_AUTO_TEST_CASE(every_block_is_aligned_to_16_whatever_the_classes) {
  using other = xallocator<struct odd_classes, listed_classes<8, 24, 40, 64>>;
  for (const std::size_t bytes : {1u, 8u, 24u, 40u, 50u})
    for (int i = 0; i != 20; ++i) {  // which stay
      BOOST_TEST(aligned(other::allocate(bytes)));
      for (const std::size_t alignment : {1u, 8u, 16u}) BOOST_TEST(aligned(other::allocate_aligned(alignment, bytes)));
    }
}

BOOST_AUTO_TEST_CASE(xaligned_alloc_refuses_what_is_no_alignment) {
  for (const std::size_t alignment : {0u, 3u, 6u, 24u, 48u, 100u, 4097u}) BOOST_TEST(xaligned_alloc(alignment, 64) == nullptr);
  BOOST_TEST(xaligned_alloc(static_cast<std::size_t>(-1), 64) == nullptr);
  BOOST_TEST(xaligned_alloc(static_cast<std::size_t>(-1) / 2 + 1, 64) == nullptr);
  BOOST_TEST(in_use() == 0u);
}

BOOST_AUTO_TEST_CASE(xposix_memalign_is_posix_memalign) {
  int anything = 0;
  void* const before = &anything;
  void* block = before;
  errno = 0;
  for (const std::size_t alignment : {0u, 1u, 4u, 24u}) BOOST_TEST(xposix_memalign(&block, alignment, 100) == EINVAL);
  BOOST_TEST(xposix_memalign(&block, 64, static_cast<std::size_t>(-1) / 2) == ENOMEM);
  BOOST_TEST(block == before);
  BOOST_TEST(errno == 0);
  for (const std::size_t alignment : {8u, 64u, 4096u}) {
    BOOST_REQUIRE(xposix_memalign(&block, alignment, 100) == 0);
    BOOST_TEST(aligned(block, alignment));
    BOOST_TEST(xmalloc_usable_size(block) >= 100u);
    xfree_aligned_sized(block, alignment, 100);
  }
  BOOST_TEST(xposix_memalign(&block, 8, 0) == 0);
  xfree_sized(block, 0);
  xfree_sized(nullptr, 8);
  xfree_aligned_sized(nullptr, 8, 8);
  BOOST_TEST(in_use() == 0u);
}
BOOST_AUTO_TEST_CASE(xfree_sized_after_xrealloc_in_place) {  // the block is of another class than its new size
  const auto counts = [](std::size_t size) {
    for (const auto& row : xmalloc_statistics().by_class)
      if (row.block_size == size) return row.counts.in_use;
    return std::size_t{999};
  };
  void* const block = xmalloc(1000);
  BOOST_TEST(xrealloc(block, 20) == block);
  BOOST_TEST(counts(1024) == 1u);
  xfree_sized(block, 20);
  BOOST_TEST(counts(1024) == 0u);
  BOOST_TEST(counts(32) == 0u);
  BOOST_TEST(xmalloc(1000) == block);
  xfree_sized(block, 1000);
  BOOST_TEST(in_use() == 0u);
}

// ---- statistics, trim -------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(statistics_balance) {
  using other = xallocator<struct balance, heap_store>;
  const auto fresh = other::statistics();
  BOOST_TEST(fresh.by_class.size() == 40u);
  BOOST_TEST(fresh.by_class[0].block_size == 16u);
  BOOST_TEST(fresh.by_class[39].block_size == 32'768u);
  for (const auto& row : fresh.by_class) BOOST_TEST(row.counts.bytes == 0u);
  std::vector<void*> all;
  for (std::size_t i = 0; i < 1000; ++i) all.push_back(other::allocate(i % 5 == 0 ? 50'000 : 16 * (i % 5)));
  const auto full = other::statistics();
  for (std::size_t i = 0; i < 40; ++i) {
    BOOST_TEST(full.by_class[i].counts.in_use == (i < 4 ? 200u : 0u));
    BOOST_TEST(full.by_class[i].counts.peak == (i < 4 ? 200u : 0u));
    BOOST_TEST(full.by_class[i].counts.allocations == (i < 4 ? 200u : 0u));
    BOOST_TEST((full.by_class[i].counts.chunks != 0) == (i < 4));
    BOOST_TEST(full.by_class[i].counts.bytes >= full.by_class[i].counts.in_use * full.by_class[i].block_size);
  }
  BOOST_TEST(full.large.blocks == 200u);
  BOOST_TEST(full.large.bytes >= 200 * 50'000u);
  for (std::size_t i = 0; i < 1000; i += 2) other::deallocate(all[i]);
  BOOST_TEST(total<other>().in_use + other::statistics().large.blocks == 500u);
  for (std::size_t i = 1; i < 1000; i += 2) other::deallocate(all[i]);
  BOOST_TEST(total<other>().in_use == 0u);
  BOOST_TEST(total<other>().allocations == 800u);
  BOOST_TEST(other::statistics().large.blocks == 0u);
  BOOST_TEST(other::statistics().large.bytes == 0u);
  BOOST_TEST(other::trim() > 0u);
  BOOST_TEST(total<other>().chunks == 0u);
  BOOST_TEST(total<other>().bytes == 0u);
  BOOST_TEST(total<other>().peak == 800u);
}

BOOST_AUTO_TEST_CASE(defect_12_what_was_not_had_is_not_counted) {
  using store = failing_store<struct uncounted>;
  using other = xallocator<struct uncounted, store>;
  std::vector<void*> all{other::allocate(100), other::allocate(50'000)};
  store::calls_left = 0;
  while (void* const block = other::allocate(100)) all.push_back(block);
  for (int i = 0; i < 5; ++i) {
    BOOST_TEST(other::allocate(100) == nullptr);
    BOOST_TEST(other::allocate(3000) == nullptr);
    BOOST_TEST(other::allocate(50'000) == nullptr);
  }
  BOOST_TEST(total<other>().in_use + other::statistics().large.blocks == all.size());
  BOOST_TEST(total<other>().allocations == all.size() - 1);
  BOOST_TEST(total<other>().chunks >= 1u);
  store::calls_left = static_cast<std::size_t>(-1);
  for (void* const block : all) other::deallocate(block);
}

BOOST_AUTO_TEST_CASE(defect_24_every_block_goes_back_to_the_store) {
  using store = failing_store<struct back>;
  using other = xallocator<struct back, store>;
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> all;
    for (std::size_t bytes = 0; bytes < 6000; bytes += 3) all.push_back(other::allocate(bytes));
    for (std::size_t i = 0; i < all.size(); i += 3) other::deallocate(std::exchange(all[i], nullptr));
    other::trim();
    for (void* const block : all) other::deallocate(block);
    const std::size_t held = store::bytes;
    BOOST_TEST(held > 0u);
    BOOST_TEST(other::trim() == held);
    BOOST_TEST(store::bytes == 0u);
  }
}

// ---- defects of other libraries ---------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(defect_8_xmalloc_recovers_after_failed_growth) {
  using store = failing_store<struct recovers>;
  using other = xallocator<struct recovers, store>;
  for (std::size_t k = 0; k < 40; ++k) {
    std::vector<void*> all;
    store::failures = 0;
    store::calls_left = k;
    for (const std::size_t bytes : {0u, 40u, 700u, 4096u, 50'000u, 100'000u})
      for (int i = 0; i < 20; ++i)
        if (void* const block = other::allocate(bytes)) {
          std::memset(block, 3, bytes);
          all.push_back(block);
        }
    if (k < 30) BOOST_TEST(store::failures > 0u);
    store::calls_left = static_cast<std::size_t>(-1);
    // Nothing is locked: another thread goes on.
    void* next = nullptr;
    std::thread([&] { next = other::allocate(4000); }).join();
    BOOST_TEST(next != nullptr);
    other::deallocate(next);
    for (void* const block : all) other::deallocate(block);
    other::trim();
    BOOST_TEST(store::bytes == 0u);
  }
}

/// What errno says after a call that must return null.
template <class Call>
int error_of(Call call) {
  errno = 0;
  BOOST_TEST(call() == nullptr);
  return errno;
}
struct without_memory;
BOOST_AUTO_TEST_CASE(errno_says_why_there_is_none) {
  constexpr auto most = static_cast<std::size_t>(-1);
  void* const block = xmalloc(10);
  for (const std::size_t bytes : {most, most - 15, most - 100, most / 2 + 1, most / 2 + 100}) {
    BOOST_TEST(error_of([&] { return xmalloc(bytes); }) == ENOMEM);
    BOOST_TEST(error_of([&] { return xcalloc(1, bytes); }) == ENOMEM);
    BOOST_TEST(error_of([&] { return xaligned_alloc(64, bytes); }) == ENOMEM);
    BOOST_TEST(error_of([&] { return xaligned_alloc(65536 * 4, bytes); }) == ENOMEM);
    BOOST_TEST(error_of([&] { return xrealloc(block, bytes); }) == ENOMEM);
  }
  BOOST_TEST(error_of([] { return xaligned_alloc(24, 100); }) == EINVAL);
  errno = 0;
  xfree(block);
  BOOST_TEST(errno == 0);

  using store = failing_store<without_memory>;
  using heap = xallocator<without_memory, store>;
  store::calls_left = 0;
  for (const std::size_t bytes : {0u, 100u, 4096u, 5000u})
    BOOST_TEST(error_of([bytes] { return heap::allocate(bytes); }) == ENOMEM);
  store::calls_left = static_cast<std::size_t>(-1);
  errno = 0;
  heap::deallocate(heap::allocate(100));
  BOOST_TEST(errno == 0);
}
BOOST_AUTO_TEST_CASE(defect_9_no_memory_and_a_handler_that_returns) {
  static int calls = 0;
  const std::new_handler before = std::set_new_handler([] {
    if (++calls == 1) return;
    throw std::bad_alloc();  // or operator new would ask for ever
  });
  using store = failing_store<struct handled>;
  using other = xallocator<struct handled, store>;
  store::calls_left = 0;
  BOOST_TEST(other::allocate(100) == nullptr);
  BOOST_TEST(other::allocate(10'000) == nullptr);
  BOOST_TEST(other::allocate_zeroed(10, 10) == nullptr);
  BOOST_TEST(other::reallocate(nullptr, 10) == nullptr);
  store::calls_left = static_cast<std::size_t>(-1);
  void* const block = other::allocate(100);
  BOOST_TEST(block != nullptr);
  other::deallocate(block);
  std::set_new_handler(before);
}

// ---- a long walk ------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_long_walk) {
  struct {
    void* allocate(std::size_t bytes, std::size_t alignment) { return xaligned_alloc(alignment, bytes); }
    void deallocate(void* block, std::size_t, std::size_t) { xfree(block); }
  } functions;
  live_blocks live(functions);
  std::mt19937_64 random(seed());
  for (std::size_t i = 0; i < 60'000 * patience(); ++i) {
    const std::size_t bytes = random() % 30 == 0 ? random() % 60'000 : random() % 400 + 1;
    const auto dice = random() % 100;
    const bool growing = i / 5000 % 2 == 0;
    if (live.count() == 0 || dice < (growing ? 50u : 25u)) {
      if (dice % 2 == 0) live.add(xmalloc(bytes), bytes, 16);
      else REQUIRE(live.take(bytes, std::size_t{1} << dice % 9));
    } else if (dice < 75) {
      live.give(live.any(random));
    } else {
      void* const block = live.any(random);
      const live_blocks::part its = live.leave(block);
      void* const other = xrealloc(block, bytes);
      REQUIRE(holds(other, its.stamp, std::min(bytes, its.bytes)));
      live.add(other, bytes, 16);
    }
    if (i % 10'000 == 9'999) {
      xmalloc_trim();
      REQUIRE(in_use() == live.count());
    }
  }
  live.give_all();
  BOOST_TEST(in_use() == 0u);
  xmalloc_trim();
  BOOST_TEST(total<xmalloc_heap>().bytes == 0u);
}

}  // namespace
}  // namespace tarn::test

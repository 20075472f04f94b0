// Blocks of many sizes; fault_products_test.cc has stores that fail. `defect_N` are defects of other libraries, which
// xmalloc_test.cc lists.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <new>
#include <random>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "tarn/allocator/size_class_pool.h"
#include "tarn/policies/exhaustion.h"
#include "tarn/policies/store/memory_budget.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/allocator/live_blocks.h"
#include "tarn/test/support/check.h"
#include "tarn/test/support/model.h"
#include "tarn/test/support/upstream.h"

namespace tarn::test {
namespace {

// ---- classes ----------------------------------------------------------------------------------------------------------------

template <std::size_t Smallest, std::size_t Largest>
void check_geometric(called_from = {}) {
  using classes = geometric_classes<Smallest, Largest>;
  BOOST_TEST(classes::size(0) == Smallest);
  BOOST_TEST(classes::size(classes::count - 1) == Largest);
  BOOST_TEST(classes::largest == Largest);
  for (std::size_t i = 0; i != classes::count; ++i) {
    BOOST_TEST(classes::index(classes::size(i)) == i);
    if (i != 0) BOOST_TEST(classes::size(i - 1) < classes::size(i));
    BOOST_TEST(classes::size(i) % Smallest == 0);
  }
  std::size_t last = 0;
  for (std::size_t bytes = 1; bytes <= Largest; ++bytes) {
    const std::size_t i = classes::index(bytes);
    const std::size_t size = classes::size(i);
    REQUIRE(i < classes::count);
    REQUIRE(i >= last);
    REQUIRE(size >= bytes);
    REQUIRE(i == 0 || classes::size(i - 1) < bytes);  // the smallest that has room
    if (bytes > 8 * Smallest) REQUIRE(4 * (size - bytes) <= bytes);
    else REQUIRE(size - bytes < Smallest);
    last = i;
  }
}

BOOST_AUTO_TEST_CASE(geometric_classes_waste_at_most_a_quarter) {
  check_geometric<16, 4096>();
  check_geometric<16, 16>();
  check_geometric<16, 48>();
  check_geometric<16, 128>();
  check_geometric<16, 160>();
  check_geometric<16, 1024>();
  check_geometric<16, 65536>();
  check_geometric<32, 4096>();
  check_geometric<64, 64>();
  check_geometric<64, 448>();
  check_geometric<64, 10240>();
  check_geometric<256, 4096>();
  check_geometric<1024, 1024 * 1024>();
  BOOST_TEST((geometric_classes<16, 4096>::count) == 28u);
  BOOST_TEST((geometric_classes<>::count) == 40u);
}

template <std::size_t... Bytes>
void check_listed(called_from = {}) {
  using classes = listed_classes<Bytes...>;
  const std::vector<std::size_t> all{Bytes...};
  BOOST_TEST(classes::count == all.size());
  BOOST_TEST(classes::largest == all.back());
  for (std::size_t bytes = 1; bytes <= all.back(); ++bytes) {
    const auto wanted = std::find_if(all.begin(), all.end(), [=](std::size_t size) { return size >= bytes; });
    REQUIRE(classes::index(bytes) == static_cast<std::size_t>(wanted - all.begin()));
    REQUIRE(classes::size(classes::index(bytes)) == *wanted);
  }
}

BOOST_AUTO_TEST_CASE(listed_classes_are_what_is_listed) {
  check_listed<24, 40, 100>();
  check_listed<1>();
  check_listed<1, 2, 3, 4096>();
  check_listed<64, 65, 128, 5000>();
}

template <class Pool>
void check_class_size(called_from = {}) {
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    std::size_t last = 0;
    for (std::size_t bytes = 0; bytes <= 40'000; ++bytes) {
      const std::size_t size = Pool::class_size(bytes, alignment);
      if (size == 0) {
        if (bytes != 0) REQUIRE(last == 0 || Pool::class_size(bytes + 1, alignment) == 0);
        continue;
      }
      REQUIRE(size >= bytes);
      REQUIRE(size >= last);
      last = size;
    }
  }
}

BOOST_AUTO_TEST_CASE(class_size_grows_with_the_request) {
  check_class_size<size_class_pool<>>();
  check_class_size<size_class_pool<geometric_classes<64, 10240>>>();
  check_class_size<size_class_pool<listed_classes<24, 40, 100>>>();
  using standard = size_class_pool<>;
  BOOST_TEST(standard::class_size(0) == 16u);
  BOOST_TEST(standard::class_size(1) == 16u);
  BOOST_TEST(standard::class_size(100) == 112u);
  BOOST_TEST(standard::class_size(129) == 160u);
  BOOST_TEST(standard::class_size(100, 64) == 128u);
  BOOST_TEST(standard::class_size(4096) == 4096u);
  BOOST_TEST(standard::class_size(4097) == 5120u);
  BOOST_TEST(standard::class_size(32'768) == 32'768u);
  BOOST_TEST(standard::class_size(32'769) == 0u);
  BOOST_TEST(standard::class_size(8, 128) == 0u);
  BOOST_TEST(standard::class_size(static_cast<std::size_t>(-1)) == 0u);
  BOOST_TEST(standard::class_size(static_cast<std::size_t>(-1), 64) == 0u);
  using odd = size_class_pool<listed_classes<24, 40, 100>>;
  BOOST_TEST(odd::class_size(20, 4) == 24u);
  BOOST_TEST(odd::class_size(20, 8) == 24u);
  BOOST_TEST(odd::class_size(20, 16) == 0u);  // none of the three is aligned to 16
  BOOST_TEST(odd::class_size(50, 4) == 100u);
  BOOST_TEST(odd::class_size(50, 8) == 0u);
}

// ---- every size, every alignment --------------------------------------------------------------------------------------------

template <class Pool>
void every_size_and_alignment(std::size_t step, called_from = {}) {
  const auto held = std::make_unique<Pool>();
  live_blocks all(*held);
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (std::size_t bytes = 0; bytes <= 10'000; bytes += bytes < 300 ? 1 : step) REQUIRE(all.take(bytes, alignment));
    all.give_every(2);
  }
  all.verify();
  all.give_all();
  // Again, over used blocks.
  for (std::size_t alignment = 4096; alignment != 0; alignment /= 2)
    for (std::size_t bytes = 0; bytes <= 10'000; bytes += 97) REQUIRE(all.take(bytes, alignment));
  all.verify();
}

BOOST_AUTO_TEST_CASE(defect_20_every_size_at_every_alignment) {
  every_size_and_alignment<size_class_pool<>>(7);
  every_size_and_alignment<size_class_pool<geometric_classes<64, 10240>, lifo_reuse<>>>(41);
  // Classes of odd sizes.
  every_size_and_alignment<size_class_pool<listed_classes<24, 40, 100>>>(41);
  every_size_and_alignment<size_class_pool<listed_classes<1, 3, 7, 16, 50, 96, 192, 1000, 4000>, lifo_reuse<>>>(41);
  every_size_and_alignment<size_class_pool<listed_classes<48, 64, 65, 80>, fixed_growth<3>>>(41);
}
BOOST_AUTO_TEST_CASE(what_its_alignment_raises_beyond_the_largest_class_has_a_region_of_its_own) {
  size_class_pool<listed_classes<64, 96>> pool;
  CHECK(pool.class_size(64, 64) == 64u);
  CHECK(pool.class_size(65, 64) == 0u);
  CHECK(pool.class_size(96, 32) == 96u);
  void* const block = pool.allocate(70, 64);
  CHECK(detail::address_of(block) % 64 == 0u);
  CHECK(pool.large().blocks == 1u);
  pool.deallocate(block, 70, 64);
  CHECK(pool.large().blocks == 0u);
}

template <class Pool, class... Given>
void walk(std::size_t operations, std::size_t most, const Given&... given) {
  const auto held = std::make_unique<Pool>(given...);
  live_blocks all(*held);
  std::mt19937_64 random(seed());
  std::size_t aim = most / 2;
  for (std::size_t i = 0; i < operations; ++i) {
    if (i % 3000 == 0) aim = random() % (most + 1);
    if (random() % 100 < (all.count() < aim ? 70u : 30u)) {
      const std::size_t bytes = random() % 20 == 0 ? random() % 50'000 : random() % 300;
      const std::size_t alignment = random() % 4 == 0 ? std::size_t{1} << random() % 13 : 16;
      (void)all.take(bytes, alignment);
    } else if (all.count() != 0) {
      all.give(all.any(random));
    }
    if (i % 10'000 == 9'999) {
      held->trim();
      all.verify();
    }
    if (i % 30'000 == 29'999) {
      held->release();
      all.forget();
    }
  }
}

BOOST_AUTO_TEST_CASE(a_long_walk) {
  const std::size_t n = 40'000 * patience();
  walk<size_class_pool<listed_classes<24, 40, 100>>>(n, 3000);
  walk<size_class_pool<static_array_store<60>>>(n, 3000);
  std::vector<std::byte> bytes(1'000'003);
  walk<size_class_pool<buffer_store>>(n, 3000, buffer_store{std::span(bytes).subspan(3)});
  test::upstream upstream;
  walk<size_class_pool<resource_store, mutex_locking<>, fixed_growth<3>>>(n, 3000, resource_store{&upstream});
  BOOST_TEST(upstream.bytes() == 0u);
  BOOST_TEST(upstream.faults() == 0u);
}

// ---- what goes back ---------------------------------------------------------------------------------------------------------

template <class... Policies>
void give_all_back(called_from = {}) {
  test::upstream upstream;
  {
    size_class_pool<resource_store, Policies...> pool{resource_store{&upstream}};
    BOOST_TEST(upstream.bytes() == 0u);
    BOOST_TEST(pool.trim() == 0u);
    pool.release();
    for (int round = 0; round < 3; ++round) {
      live_blocks all(pool);
      for (std::size_t bytes = 0; bytes < 9000; bytes += bytes < 100 ? 1 : 13)
        REQUIRE(all.take(bytes, bytes % 2 == 0 ? 16 : 4));
      for (std::size_t bytes = 0; bytes < 300; ++bytes) REQUIRE(all.take(bytes, 128));
      all.give_every(3);
      pool.trim();
      all.verify();
      if (round == 0) {
        all.give_all();
        const std::size_t held = upstream.bytes();
        const std::size_t trimmed = pool.trim();
        BOOST_TEST(trimmed > 0u);
        BOOST_TEST(upstream.bytes() == held - trimmed);
        BOOST_TEST(upstream.bytes() < 200'000u);  // the pools themselves
        BOOST_TEST(pool.trim() == 0u);
      } else if (round == 1) {
        all.forget();
        pool.release();
        BOOST_TEST(upstream.bytes() == 0u);
        pool.release();
      }
    }
  }  // with blocks in use
  BOOST_TEST(upstream.bytes() == 0u);
  BOOST_TEST(upstream.faults() == 0u);
}

BOOST_AUTO_TEST_CASE(defect_24_every_block_goes_back_to_the_store) {
  give_all_back<>();
  give_all_back<mutex_locking<>, batch_reuse<prefetch::none, 128>>();
  give_all_back<listed_classes<24, 40, 100>>();
}

BOOST_AUTO_TEST_CASE(large_blocks_are_counted_and_go_back) {
  test::upstream upstream;
  size_class_pool<resource_store> pool{resource_store{&upstream}};
  std::vector<void*> all;
  for (std::size_t i = 0; i < 10; ++i) all.push_back(pool.allocate(50'000 + i));
  BOOST_TEST(pool.large().blocks == 10u);
  BOOST_TEST(pool.large().bytes >= 500'000u);
  BOOST_TEST(pool.large().bytes == upstream.bytes());
  for (const std::size_t i : {0u, 9u, 4u, 5u, 1u, 8u}) pool.deallocate(all[i], 50'000 + i);  // ends and middle of the list
  BOOST_TEST(pool.large().blocks == 4u);
  BOOST_TEST(pool.large().bytes == upstream.bytes());
  void* const small = pool.try_allocate_large(8, 8);  // whatever its size
  BOOST_TEST(pool.large().blocks == 5u);
  pool.deallocate_large(small);
  BOOST_TEST(pool.large().blocks == 4u);
  pool.release();
  BOOST_TEST(pool.large().blocks == 0u);
  BOOST_TEST(pool.large().bytes == 0u);
  BOOST_TEST(upstream.bytes() == 0u);
  BOOST_TEST(upstream.faults() == 0u);
}

// A store may give so much to the system at once, and then each page is faulted in again.
BOOST_AUTO_TEST_CASE(a_large_block_comes_from_one_of_about_its_size_that_was_freed) {
  test::upstream upstream;
  size_class_pool<resource_store> pool{resource_store{&upstream}};
  for (const std::size_t bytes : {200'000u, 500'000u, 2'000'000u}) {
    void* const block = pool.allocate(bytes);
    std::memset(block, 0xAB, bytes);
    pool.deallocate(block, bytes);
    const std::size_t calls = upstream.calls();
    BOOST_TEST(pool.try_allocate(bytes / 5 * 4 + 100, 64) != block);  // no region is known to be aligned so much
    BOOST_TEST(pool.allocate(bytes / 2) != block);
    BOOST_TEST(pool.allocate(bytes + bytes / 2) != block);
    BOOST_TEST(upstream.calls() == calls + 3);
    void* const again = pool.allocate(bytes / 5 * 4 + 100);
    BOOST_TEST(again == block);
    BOOST_TEST(upstream.calls() == calls + 3);
    std::memset(again, 0xCD, bytes);
    pool.release();
    BOOST_TEST(upstream.bytes() == 0u);
  }
  BOOST_TEST(upstream.faults() == 0u);
}
BOOST_AUTO_TEST_CASE(what_stays_of_large_blocks_is_bounded_and_goes_with_trim) {
  test::upstream upstream;
  size_class_pool<resource_store> pool{resource_store{&upstream}};
  for (const std::size_t bytes : {100'000u, 131'072u, 1'000'000u, 2'000'000u, 2'200'000u}) {
    std::vector<void*> all;
    for (int i = 0; i < 40; ++i) all.push_back(pool.allocate(bytes));
    for (void* const block : all) pool.deallocate(block, bytes);
    BOOST_TEST(pool.large().blocks == 0u);
    const bool stays = bytes >= 128 * 1024 && bytes <= 2 * 1024 * 1024;
    BOOST_TEST(upstream.bytes() <= (stays ? 4u * 1024 * 1024 : 0u));
    BOOST_TEST((upstream.bytes() >= 3u * 1024 * 1024) == stays);
    const std::size_t held = upstream.bytes();
    BOOST_TEST(pool.trim() == held);
    BOOST_TEST(upstream.bytes() == 0u);
  }
  BOOST_TEST(upstream.faults() == 0u);
}
BOOST_AUTO_TEST_CASE(what_stays_of_large_blocks_goes_where_the_store_refuses) {
  test::upstream upstream;
  size_class_pool<resource_store> pool{resource_store{&upstream}};
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{300'000}}) {
    pool.deallocate(pool.allocate(200'000), 200'000);
    const std::size_t before = upstream.bytes();
    upstream.fail(1, failing::for_ever);
    BOOST_TEST(pool.try_allocate(bytes) == nullptr);
    BOOST_TEST(upstream.bytes() + 200'000 <= before);
    upstream.fail(1, failing::never);
  }
}
template <class... Policies>
void keep_no_large() {
  test::upstream upstream;
  size_class_pool<resource_store, Policies...> pool{resource_store{&upstream}};
  pool.deallocate(pool.allocate(200'000), 200'000);
  BOOST_TEST(upstream.bytes() == 0u);
}
BOOST_AUTO_TEST_CASE(no_large_block_stays_where_memory_goes_back_at_once_or_others_may_ask) {
  keep_no_large<return_empty_chunks<0, 0>>();
  keep_no_large<mutex_locking<>, reclaim_and_retry<>>();
}

BOOST_AUTO_TEST_CASE(a_block_of_no_bytes_has_one_that_nobody_else_has) {
  for (const std::size_t alignment : {16u, 64u, 128u, 1024u}) {
    std::vector<std::byte> bytes(100'000);
    std::pmr::monotonic_buffer_resource regions(bytes.data(), bytes.size(), std::pmr::null_memory_resource());  // side by side
    size_class_pool<resource_store> pool{resource_store{&regions}};
    auto* const none = static_cast<unsigned char*>(pool.allocate(0, alignment));
    *none = 0xAB;
    auto* const next = static_cast<unsigned char*>(pool.allocate(50'000, 16));
    std::memset(next, 0xCD, 50'000);
    BOOST_TEST(*none == 0xAB);
    BOOST_TEST(pool.allocate(0, alignment) != none);
  }
}

BOOST_AUTO_TEST_CASE(defect_13_release_and_fill_does_not_grow_each_time) {
  test::upstream upstream;
  size_class_pool<resource_store> pool{resource_store{&upstream}};
  (void)pool.allocate(40);
  const std::size_t first = upstream.bytes();
  for (int i = 0; i < 40; ++i) {
    pool.release();
    BOOST_TEST(upstream.bytes() == 0u);
    (void)pool.allocate(40);
    BOOST_TEST(upstream.bytes() == first);
  }
}

BOOST_AUTO_TEST_CASE(sizes_that_no_store_can_meet_are_refused) {
  size_class_pool<> pool;
  constexpr auto all = static_cast<std::size_t>(-1);
  for (const std::size_t alignment : {1u, 16u, 64u, 4096u})
    for (const std::size_t bytes : {all, all - 1, all - 64, all / 2 + 2}) {
      BOOST_TEST(pool.try_allocate(bytes, alignment) == nullptr);
      BOOST_CHECK_THROW((void)pool.allocate(bytes, alignment), std::bad_alloc);
      BOOST_TEST(pool.try_allocate_large(bytes, alignment) == nullptr);
    }
  BOOST_TEST(pool.large().blocks == 0u);
  BOOST_TEST(pool.try_allocate(16, all / 2 + 1) == nullptr);
}

// ---- chunks before they are needed --------------------------------------------------------------------------------------

template <class... Policies>
void reserved_blocks_ask_no_store(called_from = {}) {
  test::upstream upstream;
  size_class_pool<resource_store, Policies...> pool{resource_store{&upstream}};
  for (const std::size_t bytes : {std::size_t{48}, std::size_t{1000}, std::size_t{48}}) {
    pool.reserve(500, bytes);
    upstream.fail(1, failing::for_ever);
    std::vector<void*> all;
    for (int i = 0; i != 500; ++i) all.push_back(pool.try_allocate(bytes));
    CHECK(std::count(all.begin(), all.end(), nullptr) == 0);
    CHECK(!pool.try_reserve(1'000'000, bytes));
    CHECK(throws_bad_alloc([&] { pool.reserve(1'000'000, bytes); }));
    upstream.fail(1, failing::never);
    for (void* const b : all) pool.deallocate(b, bytes);
  }
  CHECK(pool.try_reserve(0, 50'000) && !pool.try_reserve(1, 50'000));  // of no class
  pool.trim();
  pool.release();
  CHECK(upstream.bytes() == 0u);
}
BOOST_AUTO_TEST_CASE(so_many_blocks_of_a_size_can_be_had_before_they_are_needed) {
  reserved_blocks_ask_no_store<>();
  reserved_blocks_ask_no_store<lifo_reuse<>, fixed_growth<10>>();
  reserved_blocks_ask_no_store<thread_cached<>>();
  size_class_pool<static_array_store<4>, mutex_locking<>> array;
  BOOST_TEST((array.try_reserve(400, 100) && !array.try_reserve(1000, 100)));
}

// ---- bounded stores ---------------------------------------------------------------------------------------------------------

constexpr std::size_t granule = 16 * 1024;
constexpr std::size_t cache_line_bytes = 64;

template <class Pool, class... Given>
void use_granules(std::size_t granules, called_from = {}, const Given&... given) {
  const auto held = std::make_unique<Pool>(given...);
  Pool& pool = *held;
  for (int round = 0; round < 3; ++round) {
    // One class has them all, and nearly all of their bytes.
    for (const std::size_t bytes : {16u, 48u, 1000u, 4096u}) {
      live_blocks all(pool);
      while (all.take(bytes, 16)) {
      }
      const std::size_t size = Pool::class_size(bytes);
      CHECK(all.count() >= granules * ((granule - 256) / size));
      CHECK(all.count() <= granules * (granule / size));
      CHECK(pool.try_allocate(9) == nullptr || bytes == 16);  // no granule is left for another class
      CHECK(throws_bad_alloc([&] { (void)pool.allocate(bytes); }));
      all.verify();
      all.give_every(2);
      while (all.take(bytes, 16)) {
      }
      all.verify();
      all.give_all();
      CHECK(pool.trim() != 0);  // the granules are free for the next class
    }
    // Each class has one.
    std::vector<void*> first;
    for (std::size_t i = 0; i < granules; ++i) first.push_back(pool.try_allocate(16 * (i + 1)));
    CHECK(std::count(first.begin(), first.end(), nullptr) == 0);
    CHECK(pool.try_allocate(2000) == nullptr);
    CHECK(pool.try_allocate(16) != nullptr);
    CHECK(pool.try_allocate(4097) == nullptr);  // no room of its own in a bounded store
    CHECK(pool.try_allocate(16, 128) == nullptr);
    CHECK(pool.try_allocate_large(16, 16) == nullptr);
    pool.release();
  }
}

BOOST_AUTO_TEST_CASE(all_classes_share_an_array) {
  use_granules<size_class_pool<static_array_store<5>>>(5);
  use_granules<size_class_pool<static_array_store<3>, batch_reuse<>>>(3);
  use_granules<size_class_pool<static_array_store<7>, mutex_locking<>>>(7);
}
BOOST_AUTO_TEST_CASE(all_classes_share_a_buffer) {
  std::vector<std::byte> bytes(6 * granule + 100);  // room for five, wherever it starts
  use_granules<size_class_pool<buffer_store>>(
      5, {}, buffer_store{std::span(bytes).subspan(
                 0, 5 * granule + (granule - reinterpret_cast<std::uintptr_t>(bytes.data()) % granule) % granule)});
}
// Granules that lie beside others' are aligned to their size: for that an object has at most 32 KiB more for each array, and is
// itself aligned to no more than its members.
template <class Pool, std::size_t Arrays, class Least>
constexpr bool is_small = sizeof(Pool) <= sizeof(Least) + Arrays * 32 * 1024 && alignof(Pool) <= cache_line_bytes;
template <std::size_t Granules, class... Policies>
using in_array = size_class_pool<static_array_store<Granules>, Policies...>;
static_assert(is_small<in_array<1, fall_back_to<heap_store>>, 1, in_array<1>>);
static_assert(is_small<in_array<9, fall_back_to<heap_store>>, 1, in_array<9>>);
static_assert(is_small<in_array<2, fall_back_to<static_array_store<3>>>, 2, in_array<5>>);
BOOST_AUTO_TEST_CASE(an_array_serves_wherever_it_lies) {
  using pool_type = size_class_pool<static_array_store<2>, fall_back_to<heap_store>>;
  std::vector<std::byte> room(sizeof(pool_type) + 3 * granule);
  for (std::size_t offset = 0; offset < 2 * granule; offset += 5000 / alignof(pool_type) * alignof(pool_type)) {
    auto* const pool = ::new (room.data() + offset) pool_type;
    std::vector<void*> all;
    std::size_t inside = 0;
    for (int i = 0; i != 40; ++i) {
      auto* const block = static_cast<std::byte*>(pool->allocate(1000));
      std::memset(block, i, 1000);
      inside += block >= reinterpret_cast<std::byte*>(pool) && block < reinterpret_cast<std::byte*>(pool + 1) ? 1 : 0;
      all.push_back(block);
    }
    BOOST_TEST(inside >= 2 * 14u);
    for (std::size_t i = 0; i != all.size(); ++i) {
      REQUIRE(*static_cast<std::byte*>(all[i]) == static_cast<std::byte>(i));
      REQUIRE(pool->usable_size(all[i]) == 1024u);
      pool->deallocate(all[i]);
    }
    pool->~pool_type();
  }
}

/// All that one class can get, which are freed then; null is the first of none.
template <class Blocks>
std::size_t all_of(Blocks& blocks, std::size_t bytes) {
  std::vector<void*> all;
  while (void* const b = blocks.try_allocate(bytes, 8)) all.push_back(b);
  for (void* const b : all) blocks.deallocate(b, bytes, 8);
  return all.size();
}
template <class Blocks>
void serves_any_size(Blocks& blocks, bool large, called_from = {}) {
  for (int round = 0; round != 3; ++round)
    for (const std::size_t bytes : {16u, 2000u, 64u, 4000u, 300u}) REQUIRE(all_of(blocks, bytes) >= 65'536 / 2 / bytes);
  if (large) REQUIRE(all_of(blocks, 10'000) >= 3);
}
BOOST_AUTO_TEST_CASE(what_one_class_holds_and_nobody_uses_is_there_for_the_others) {
  const auto serves = [](auto pool, bool large) { serves_any_size(*pool, large); };
  serves(std::make_unique<size_class_pool<static_array_store<4>>>(), false);
  serves(std::make_unique<size_class_pool<static_array_store<4>, mutex_locking<>, wait_for_block<1>>>(), false);
  serves(std::make_unique<size_class_pool<static_array_store<2>, fall_back_to<static_array_store<2>>>>(), false);
  std::vector<std::byte> bytes(4 * granule);
  serves(std::make_unique<size_class_pool<buffer_store>>(buffer_store{std::span(bytes)}), false);
  memory_budget budget(65'536);
  serves(std::make_unique<size_class_pool<budgeted<heap_store>>>(budgeted<heap_store>{budget}), true);
  serves(std::make_unique<size_class_pool<budgeted<heap_store>, thread_cached<>>>(budgeted<heap_store>{budget}), true);
}
BOOST_AUTO_TEST_CASE(defect_25_release_twice_makes_no_block_twice) {
  const auto pool = std::make_unique<size_class_pool<static_array_store<2>>>();
  std::size_t had = 0;
  for (int round = 0; round < 6; ++round) {
    live_blocks all(*pool);
    while (all.take(200, 8)) {
    }
    BOOST_TEST((had == 0 || all.count() == had));
    had = all.count();
    all.give_every(2);
    pool->release();
    if (round % 2 == 0) pool->release();
  }
}

// ---- threads ----------------------------------------------------------------------------------------------------------------

template <class Pool, class... Given>
void ask_for_a_new_class_at_once(called_from = {}, const Given&... given) {
  constexpr std::ptrdiff_t threads = 4;
  constexpr std::size_t rounds = 40;
  const auto held = std::make_unique<Pool>(given...);
  Pool& pool = *held;
  std::barrier start(threads);
  std::atomic<int> faults{0};
  std::vector<std::vector<void*>> got(threads);
  const auto work = [&](std::size_t who) {
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::size_t bytes = round % 28 < 8 ? 16 * (round % 28 + 1) : Pool::classes::size(round % 28);
      start.arrive_and_wait();
      auto* const block = static_cast<unsigned char*>(pool.try_allocate(bytes));
      if (block == nullptr) ++faults;
      else std::memset(block, static_cast<int>(who) + 1, bytes);
      got[who].push_back(block);
      start.arrive_and_wait();
      if (who == 0) {
        for (std::size_t a = 0; a < got.size(); ++a)
          for (std::size_t b = 0; b < a; ++b)
            if (got[a].back() == got[b].back()) ++faults;
      }
      start.arrive_and_wait();
      // Another thread gives it back.
      auto* const other = static_cast<unsigned char*>(got[(who + 1) % threads][round]);
      if (other != nullptr && other[bytes - 1] != static_cast<unsigned char>((who + 1) % threads + 1)) ++faults;
      if (other != nullptr) pool.deallocate(other, bytes);
      if (round == 27 || round % 7 == 6) {
        start.arrive_and_wait();
        if (who == 0) pool.release();  // so that the classes are new again
        start.arrive_and_wait();
      }
    }
  };
  {
    std::vector<std::thread> all;
    for (std::size_t who = 0; who < threads; ++who) all.emplace_back(work, who);
    for (std::thread& t : all) t.join();
  }
  BOOST_TEST(faults == 0);
}

BOOST_AUTO_TEST_CASE(threads_that_make_the_pool_of_a_class_at_once) {
  test::upstream upstream;
  for (int i = 0; i < 2; ++i) {
    ask_for_a_new_class_at_once<size_class_pool<mutex_locking<>, resource_store>>({}, resource_store{&upstream});
    ask_for_a_new_class_at_once<size_class_pool<shared_locking>>();
    ask_for_a_new_class_at_once<size_class_pool<mutex_locking<>, static_array_store<30>>>();
  }
  BOOST_TEST(upstream.bytes() == 0u);  // also of the pools that came too late
  BOOST_TEST(upstream.faults() == 0u);
}

// ---- reset() ---------------------------------------------------------------------------------------------------------------

/// Blocks of most classes, so that a second time they need what they did the first.
template <class Blocks>
bool fill_classes(Blocks& all) {
  bool could = true;
  for (std::size_t bytes = 0; bytes < 4000; bytes += bytes < 300 ? 1 : 37) could = all.take(bytes, 16) != nullptr && could;
  return could;
}
template <class... Policies>
void reset_keeps_the_chunks(called_from = {}) {
  test::upstream upstream;
  {
    size_class_pool<resource_store, Policies...> pool{resource_store{&upstream}};
    pool.reset();
    BOOST_TEST(upstream.bytes() == 0u);
    for (int round = 0; round != 5; ++round) {
      live_blocks all(pool);
      if (round != 0) upstream.fail(1, failing::for_ever);
      REQUIRE(fill_classes(all));
      upstream.fail(1, failing::never);
      if (round % 2 != 0) all.give_every(3);  // they wait in front of a list, or behind it
      for (const std::size_t bytes : {50'000u, 100u, 300'000u}) REQUIRE(all.take(bytes, 128));
      all.verify();
      all.forget();
      pool.reset();
      BOOST_TEST(pool.large().blocks == 0u);
    }
    const std::size_t held = upstream.bytes();
    BOOST_TEST(pool.trim() != 0u);  // all is free
    BOOST_TEST(upstream.bytes() < held / 2);
  }
  BOOST_TEST(upstream.bytes() == 0u);
  BOOST_TEST(upstream.faults() == 0u);
}
BOOST_AUTO_TEST_CASE(reset_frees_all_blocks_and_keeps_the_chunks) {
  reset_keeps_the_chunks<>();
  reset_keeps_the_chunks<lifo_reuse<>, mutex_locking<>>();
  reset_keeps_the_chunks<thread_cached<>>();
  reset_keeps_the_chunks<page_local_reuse<>>();
  reset_keeps_the_chunks<counting_statistics, named<"reset">>();
  reset_keeps_the_chunks<hardened>();
  reset_keeps_the_chunks<checked>();
}
BOOST_AUTO_TEST_CASE(reset_over_an_array_leaves_the_granules_with_their_classes) {
  const auto pool = std::make_unique<size_class_pool<static_array_store<2>>>();
  for (int round = 0; round != 3; ++round) {
    std::size_t blocks = 0;
    while (pool->try_allocate(64) != nullptr) ++blocks;
    BOOST_TEST(blocks >= 2u * 250);
    pool->reset();
  }
  BOOST_TEST(pool->trim() != 0u);
  BOOST_TEST(pool->try_allocate(1000) != nullptr);
}
BOOST_AUTO_TEST_CASE(after_reset_nothing_is_counted_as_in_use) {
  size_class_pool<counting_statistics> pool;
  for (const std::size_t bytes : {16u, 16u, 1000u, 20'000u}) static_cast<void>(pool.allocate(bytes));
  pool.reset();
  std::size_t in_use = 0, allocations = 0, capacity = 0;
  pool.each_pool([&](std::size_t, auto& its) {
    in_use += its.statistics().in_use;
    allocations += its.statistics().allocations;
    capacity += its.capacity();
  });
  BOOST_TEST(in_use == 0u);
  BOOST_TEST(allocations == 4u);
  BOOST_TEST(capacity >= 4u);
}
// Blocks in other threads' magazines are among those that are free afterwards: they are handed out once, not twice.
BOOST_AUTO_TEST_CASE(reset_takes_the_magazines_of_other_threads_into_account) {
  size_class_pool<thread_cached<>> pool;
  for (int round = 0; round != 4; ++round) {
    std::thread([&] {
      std::vector<void*> all;
      for (int i = 0; i != 300; ++i) all.push_back(pool.allocate(64));
      for (void* const b : all) pool.deallocate(b, 64);
    }).join();
    pool.reset();
    std::set<void*> all;
    for (int i = 0; i != 1000; ++i) all.insert(pool.allocate(64));
    BOOST_TEST(all.size() == 1000u);
    pool.reset();
  }
}
// A policy that gives empty chunks back does so, as if each block were freed.
BOOST_AUTO_TEST_CASE(reset_leaves_no_more_chunks_than_the_retention_policy_keeps) {
  const auto left_by = [](auto free) {
    test::upstream upstream;
    size_class_pool<resource_store, page_local_reuse<>, return_empty_chunks<0, 0>> pool{resource_store{&upstream}};
    std::vector<void*> all(10'000);
    for (void*& b : all) b = pool.allocate(100);
    const std::size_t held = upstream.bytes();
    free(pool, all);
    BOOST_TEST(upstream.bytes() < held);
    return upstream.bytes();
  };
  const std::size_t one_by_one = left_by([](auto& pool, const auto& all) {
    for (void* const b : all) pool.deallocate(b, 100);
  });
  BOOST_TEST(left_by([](auto& pool, const auto&) { pool.reset(); }) <= one_by_one);
}

BOOST_AUTO_TEST_CASE(a_class_that_no_granule_has_room_for_is_none) {
  BOOST_TEST(size_class_pool<static_array_store<4>>::class_size(4097) == 0u);  // as named by default
  BOOST_TEST(size_class_pool<fall_back_to<static_array_store<4>>>::class_size(4097) == 0u);
  using all_classes = size_class_pool<static_array_store<4>, geometric_classes<>>;
  BOOST_TEST(all_classes::class_size(14'336) == 14'336u);
  BOOST_TEST(all_classes::class_size(14'337) == 0u);
  const auto pool = std::make_unique<size_class_pool<fall_back_to<static_array_store<4>>, geometric_classes<>>>();
  for (int round = 0; round != 2; ++round)
    for (const std::size_t bytes : {14'336u, 14'337u, 20'000u, 32'768u, 100'000u}) {
      void* const block = pool->allocate(bytes);
      BOOST_TEST(pool->usable_size(block) >= bytes);
      std::memset(block, 0x11, bytes);
      if (round == 0) pool->deallocate(block);
      else pool->deallocate(block, bytes);
    }
  BOOST_TEST(pool->large().blocks == 0u);
}

}  // namespace
}  // namespace tarn::test

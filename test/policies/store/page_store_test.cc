// page_store and its options: what is mapped, what faults, what goes back. Refusals are in page_store_refusals_test.cc.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/test/policies/store/page_stores.h"

namespace tarn::test {
namespace {

using guarded_stores = std::tuple<page_store<guard_pages>, page_store<guard_pages, huge_pages>,
                                  page_store<locked_pages, guard_pages>, page_store<huge_pages, guard_pages, locked_pages>>;

template <class Store>
std::size_t pages_outside() {
  return (Store::huge ? 1 : 0) + (Store::guarded ? 2 : 0);
}

// Options stand in any order.
static_assert(page_store<guard_pages, huge_pages>::huge && page_store<huge_pages, guard_pages>::guarded);
static_assert(page_store<locked_pages, guard_pages>::locked && !page_store<locked_pages>::huge);
static_assert(page_store<>::arguments_hold && !page_store<int>::arguments_hold);
static_assert(!page_store<huge_pages, huge_pages>::arguments_hold);
static_assert(!page_store<guard_pages, huge_pages, guard_pages>::arguments_hold);
static_assert(!page_store<>::traits.reports_pages && page_store<huge_pages>::traits.reports_pages);
static_assert(page_store<prefilled, huge_pages>::filled && !page_store<locked_pages>::filled);
static_assert(!page_store<prefilled, prefilled>::arguments_hold);
static_assert(std::is_empty_v<source_of<page_store<guard_pages>>>);
static_assert(page_store<>::traits.can_discard && page_store<guard_pages, prefilled>::traits.can_discard);
static_assert(!page_store<huge_pages>::traits.can_discard && !page_store<guard_pages, locked_pages>::traits.can_discard);

/// Whether this process may not lock what the cases need. Then it is refused, and that is all that a case can see.
template <class Store>
bool is_refused() {
  if (!Store::locked || may_lock(6 * MiB)) return false;
  source_of<Store> source{Store{}};
  BOOST_TEST(!source.acquire(6 * MiB, 64));
  return true;
}

template <class Store>
void check_region(std::size_t bytes, std::size_t alignment) {
  source_of<Store> source{Store{}};
  const std::size_t huge_unit = Store::huge ? 2 * MiB : page_bytes();
  const std::size_t unit = bytes == 2 * MiB + 1 ? page_bytes() : huge_unit;  // a huge page of which most would be wasted
  const std::size_t before = mapped_bytes();
  const std::size_t locked = locked_bytes();
  const detail::memory region = source.acquire(bytes, alignment);
  const std::size_t held = mapped_bytes() - before;
  const std::size_t locked_now = locked_bytes() - locked;
  BOOST_TEST_REQUIRE(bool{region});
  BOOST_TEST(detail::address_of(region.start) % std::max(alignment, huge_unit) == 0u);
  BOOST_TEST(region.bytes == detail::round_up(bytes, unit));
  BOOST_TEST(held == region.bytes + pages_outside<Store>() * page_bytes());  // not a byte of slack
  if (!sanitized) BOOST_TEST(locked_now == (Store::locked ? region.bytes : 0));
  auto* const start = static_cast<std::byte*>(region.start);
  if (Store::filled || (Store::locked && !sanitized))
    BOOST_TEST(pages_in(start, region.bytes).resident * page_bytes() == region.bytes);
  if constexpr (Store::filled) BOOST_TEST(source.refusals().fills == 0u);
  BOOST_TEST((start[0] == std::byte{0} && start[region.bytes - 1] == std::byte{0}));
  start[0] = start[region.bytes - 1] = std::byte{1};

  const std::size_t mapped = mapped_bytes();
  source.release(region, alignment);
  const std::size_t gone = mapped - mapped_bytes();
  const pages left = pages_in(start - 2 * page_bytes(), region.bytes + 3 * page_bytes());
  BOOST_TEST(gone == held);
  if (!sanitized) BOOST_TEST(locked_bytes() == locked);
  // The neighbours may be others' mappings; the chunk is no one's.
  BOOST_TEST(pages_in(start, region.bytes).mapped == 0u);
  BOOST_TEST(left.mapped <= 3 - pages_outside<Store>());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(regions_are_aligned_whole_and_all_of_them_goes, Store, stores) {
  (void)mapped_bytes();  // once, so that nothing is loaded between two readings
  if (is_refused<Store>()) return;
  for (const std::size_t alignment : {std::size_t{1}, std::size_t{64}, 4 * KiB, 8 * KiB, 64 * KiB, 2 * MiB, 4 * MiB, 32 * MiB})
    for (const std::size_t bytes : {std::size_t{1}, 4 * KiB, 4 * KiB + 1, 100'000ul, 2 * MiB, 2 * MiB + 1, 5 * MiB + 512 * KiB})
      BOOST_TEST_CONTEXT(bytes << " bytes aligned to " << alignment) { check_region<Store>(bytes, alignment); }
}

/// How a child ends that writes one byte.
int write_at(std::byte* address) {
  return in_child([&] {
    *static_cast<volatile std::byte*>(address) = std::byte{1};
    return 0;
  });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(who_runs_over_an_end_of_a_chunk_faults, Store, guarded_stores) {
  if (is_refused<Store>()) return;
  source_of<Store> source{Store{}};
  int faults = 0;
  for (const std::size_t alignment : {64 * KiB, 4 * MiB})
    for (const std::size_t bytes : {std::size_t{1}, 3 * page_bytes()}) {
      const detail::memory regions[] = {source.acquire(bytes, 1), source.acquire(bytes, alignment), source.acquire(bytes, 1)};
      for (const detail::memory region : regions) {
        auto* const start = static_cast<std::byte*>(region.start);
        std::byte* const end = start + region.bytes;
        BOOST_TEST(write_at(start) == 0);
        BOOST_TEST(write_at(end - 1) == 0);
        for (std::byte* const address : {start - 1, start - page_bytes(), end, end + page_bytes() - 1}) {
          const int ended = write_at(address);
          BOOST_TEST(ended == -SIGSEGV);
          faults += ended == -SIGSEGV;
        }
      }
      for (const detail::memory region : regions) source.release(region, 1);
    }
  BOOST_TEST(faults == 48);
}

BOOST_AUTO_TEST_CASE(a_pool_over_guarded_chunks_faults_behind_its_last_block) {
  pool<static_size<64>, page_store<guard_pages>, no_growth<1000>> pool;
  std::vector<std::byte*> blocks(1000);
  for (std::byte*& block : blocks) block = static_cast<std::byte*>(pool.allocate());
  std::byte* const last = *std::max_element(blocks.begin(), blocks.end());
  BOOST_TEST(in_child([&] {
               std::memset(last, 1, 64);
               return 0;
             }) == 0);
  BOOST_TEST(in_child([&] {
               for (std::size_t i = 0; i <= 64 + page_bytes(); ++i) static_cast<volatile std::byte*>(last)[i] = std::byte{1};
               return 0;
             }) == -SIGSEGV);
}

template <class Store>
void grow_and_release() {
  using pool_type = pool<static_size<64>, Store, page_local_reuse<>>;
  for (int warm = 0; warm < 2; ++warm) {
    const std::size_t before = mappings();
    const std::size_t mapped = mapped_bytes();
    {
      pool_type pool;
      for (int i = 0; i < 5'000; ++i) {
        pool.reserve(10'000);
        void* const block = pool.allocate();
        std::memset(block, 1, 64);
        pool.deallocate(block);
        if (i % 2 == 0) pool.trim();
        else pool.release();
      }
    }
    if (warm == 0) continue;
    BOOST_TEST(mappings() == before);
    BOOST_TEST(mapped_bytes() == mapped);
  }
}

BOOST_AUTO_TEST_CASE(ten_thousand_cycles_leave_no_mapping) {
  grow_and_release<page_store<>>();
  grow_and_release<page_store<guard_pages>>();
  grow_and_release<page_store<huge_pages>>();
  grow_and_release<page_store<guard_pages, huge_pages>>();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(resident_memory_falls_by_what_was_filled, Store, stores) {
  if (is_refused<Store>()) return;
#if defined(TARN_TSAN)
  return;  // ThreadSanitizer's own memory of them is larger than they are, and stays
#endif
  const std::size_t blocks = Store::locked ? 60'000 : 1'000'000;
#if defined(TARN_ASAN)
  // AddressSanitizer's own memory of them, an eighth, stays; and what else it takes meanwhile.
  const std::size_t kept = blocks * 64 / 4;
#else
  const std::size_t kept = 0;
#endif
  pool<static_size<64>, Store> pool;
  const std::size_t before = resident_bytes();
  for (int round = 0; round < 2; ++round) {
    pool.reserve(blocks);
    for (std::size_t i = 0; i < blocks; ++i) std::memset(pool.allocate(), 1, 64);
    const std::size_t peak = resident_bytes();
    pool.release();
    const std::size_t after = resident_bytes();
    BOOST_TEST(peak >= before + blocks * 64);
    BOOST_TEST(after <= before + kept + blocks * 64 / 20);
  }
}

}  // namespace
}  // namespace tarn::test

// What a reservation of blocks is by itself, and where its blocks lie: in memory. conformance_test.cc tries it on every
// composition.
#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <new>
#include <set>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tarn/allocator/block_reservation.h"
#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

using small = pool<static_size<64>, fixed_growth<50, 100>, counting_statistics>;
using reservation = small::reservation;

static_assert(!std::copyable<reservation> && std::is_nothrow_move_constructible_v<reservation>);
static_assert(std::is_nothrow_move_assignable_v<reservation> && std::is_nothrow_default_constructible_v<reservation>);
static_assert(std::same_as<decltype(std::declval<small&>().reserve_blocks(1)), reservation>);
static_assert(noexcept(std::declval<small&>().try_reserve_blocks(1)) && !noexcept(std::declval<small&>().reserve_blocks(1)));
static_assert(noexcept(std::declval<reservation&>().allocate()));
static_assert(sizeof(reservation) == 3 * sizeof(void*));

// shows: FM-22
BOOST_AUTO_TEST_CASE(one_that_cannot_be_granted_throws) {
  small p;
  void* const block = p.allocate();
  BOOST_TEST(throws_bad_alloc([&] { static_cast<void>(p.reserve_blocks(100)); }));
  BOOST_TEST(p.statistics().in_use == 1);
  BOOST_TEST(p.capacity() == 50);
  const reservation r = p.reserve_blocks(99);
  BOOST_TEST(r.remaining() == 99);
  p.deallocate(block);
}

// shows: FM-37 FM-38
BOOST_AUTO_TEST_CASE(it_can_be_moved_and_given_up) {
  small p;
  reservation none;
  BOOST_TEST((!none && none.remaining() == 0 && none.allocate() == nullptr));
  reservation a = p.reserve_blocks(30);
  void* const first = a.allocate();
  reservation b = std::move(a);
  BOOST_TEST((!a && a.remaining() == 0 && a.allocate() == nullptr));
  BOOST_TEST((b && b.remaining() == 29));
  b = std::move(*&b);
  BOOST_TEST((b && b.remaining() == 29));
  reservation c = p.reserve_blocks(40);
  c = std::move(b);  // the 40 go back
  BOOST_TEST((!b && c.remaining() == 29));
  BOOST_TEST(p.statistics().in_use == 30);
  void* const second = c.allocate();
  c = {};
  BOOST_TEST(!c);
  BOOST_TEST(p.statistics().in_use == 2);
  p.deallocate(first);
  p.deallocate(second);
}

BOOST_AUTO_TEST_CASE(another_thread_may_have_it) {
  pool<static_size<48>, mutex_locking<>, counting_statistics> p;
  std::thread([&p, r = p.reserve_blocks(200)]() mutable {
    for (int i = 0; i != 150; ++i) p.deallocate(r.allocate());
  }).join();
  BOOST_TEST(p.statistics().in_use == 0);
}

struct crate {
  int number = 0;
  DECLARE_MEMORY_POOL(crate)
};

BOOST_AUTO_TEST_CASE(pools_that_never_end_have_it_too) {
  auto r = static_pool<struct reserved_tag, static_size<1>>::instance().reserve_blocks(100);  // less than a link
  std::set<void*> blocks;
  while (void* const block = r.allocate()) blocks.insert(std::memset(block, 1, 1));
  BOOST_TEST(blocks.size() == 100);
  for (void* const block : blocks) static_pool<reserved_tag, static_size<1>>::instance().deallocate(block);

  auto crates = crate::memory_pool().reserve_blocks(10);
  delete ::new (crates.allocate()) crate;
  BOOST_TEST(crates.remaining() == 9);
}

BOOST_AUTO_TEST_CASE(a_handler_may_free_what_was_missing) {
  static pool<static_size<64>, static_array_store<100>, retry_with<bool (*)(std::size_t) noexcept>>* which;
  static std::vector<void*> cache;
  static const auto help = [](std::size_t) noexcept {
    if (cache.empty()) return false;
    which->deallocate(cache.back());
    cache.pop_back();
    return true;
  };
  pool<static_size<64>, static_array_store<100>, retry_with<bool (*)(std::size_t) noexcept>> p{
      retry_with<bool (*)(std::size_t) noexcept>{+help}};
  which = &p;
  while (void* const block = p.try_allocate()) {
    cache.push_back(block);
    if (cache.size() == 100) break;
  }
  auto r = p.reserve_blocks(60);
  BOOST_TEST(cache.size() == 40);
  BOOST_TEST(!p.try_reserve_blocks(41));
  BOOST_TEST(cache.size() == 0);
  BOOST_TEST(p.try_reserve_blocks(40).remaining() == 40);
}

// ---- pages ---------------------------------------------------------------------------------------------------------------

/// A chunk of fresh pages, some of which may be missing. What a pool asks for besides comes from the heap.
struct paged_store {
  using axis = tarn::axis::store;
  static constexpr store_traits traits{};
  static inline std::byte* start = nullptr;
  static inline std::size_t bytes = 0;
  static inline std::size_t missing = 0;  // pages at the end that aren't mapped

  static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
  static std::vector<bool> in_memory() {
    std::vector<unsigned char> pages(bytes / page());
    REQUIRE(mincore(start, bytes, pages.data()) == 0);
    std::vector<bool> are;
    for (const unsigned char one : pages) are.push_back((one & 1) != 0);
    return are;
  }
  template <class Traits>
  struct source {
    constexpr explicit source(const paged_store&) noexcept {}
    detail::memory acquire(std::size_t wanted, std::size_t alignment) noexcept {
      if (start != nullptr || wanted < 60'000)
        return {::operator new(wanted, std::align_val_t(alignment), std::nothrow), wanted};
      bytes = detail::round_up(wanted, page());
      void* const got = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (got == MAP_FAILED) return {};
      madvise(got, bytes, MADV_NOHUGEPAGE);  // so that one write brings one page
      start = static_cast<std::byte*>(got);
      if (missing != 0) munmap(start + bytes - missing * page(), missing * page());
      return {start, wanted};
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      if (region.start != start) return ::operator delete(region.start, std::align_val_t(alignment));
      munmap(region.start, bytes);
      start = nullptr;
    }
  };
};

template <class... Policies>
void every_page_is_in_memory(std::size_t blocks, called_from = {}) {
  pool<paged_store, fixed_growth<1000>, Policies...> p;
  auto r = p.reserve_blocks(blocks);
  const std::vector<bool> before = paged_store::in_memory();
  std::size_t n = 0;
  for (; void* const block = r.allocate(); ++n) {
    const auto at = static_cast<std::size_t>(static_cast<std::byte*>(block) - paged_store::start);
    for (std::size_t page = at / paged_store::page(); page * paged_store::page() < at + p.block_size(); ++page)
      REQUIRE(before[page]);
    p.deallocate(block);
  }
  CHECK(n == blocks);
  CHECK(std::count(before.begin(), before.end(), false) > 10);  // of the blocks that weren't reserved
}

BOOST_AUTO_TEST_CASE(every_page_of_every_block_is_in_memory) {
  every_page_is_in_memory<static_size<64>>(300);
  every_page_is_in_memory<static_size<10'000>>(300);
  every_page_is_in_memory<static_size<10'000>, page_local_reuse<>, thread_cached<>>(300);
  every_page_is_in_memory<static_size<5000>, lock_free>(300);
  every_page_is_in_memory<static_size<10'000>, hardened_with<guard_bytes>>(300);
  every_page_is_in_memory<static_size<4096, 4096>, checked>(300);  // links and guard bytes lie on other pages
  every_page_is_in_memory<static_size<4096, 4096>, checked_with<shuffled>>(100);
}

#if !defined(TARN_ASAN)  // for which a free writes into the block
BOOST_AUTO_TEST_CASE(memory_that_the_system_refuses_is_told) {
  void* const probe = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool can_be_told = madvise(probe, 4096, 23) == 0;  // MADV_POPULATE_WRITE, Linux 5.14
  munmap(probe, 4096);
  if (!can_be_told) return;

  paged_store::missing = 100;
  pool<paged_store, static_size<10'000>, fixed_growth<100>, counting_statistics> p;
  BOOST_TEST(!p.try_reserve_blocks(100));
  BOOST_TEST(p.statistics().in_use == 0);
  BOOST_TEST(p.capacity() == 100);
  const std::size_t hole = std::exchange(paged_store::missing, 0) * paged_store::page();
  mmap(paged_store::start + paged_store::bytes - hole, hole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
       -1, 0);
  BOOST_TEST(p.try_reserve_blocks(100).remaining() == 100);
}
#endif

// ---- tools ---------------------------------------------------------------------------------------------------------------

#if defined(TARN_ASAN)
template <class Pool>
void a_reserved_block_is_poisoned(called_from = {}) {
  Pool p;
  auto* const block = static_cast<std::byte*>(p.allocate());
  p.deallocate(block);
  auto r = p.reserve_blocks(1);
  CHECK(__asan_address_is_poisoned(block) && __asan_address_is_poisoned(block + p.block_size() - 1));
  CHECK(r.allocate() == block);
  CHECK(!__asan_address_is_poisoned(block) && !__asan_address_is_poisoned(block + p.block_size() - 1));
  p.deallocate(block);
}

BOOST_AUTO_TEST_CASE(address_sanitizer_sees_a_use_before_it_is_handed_out) {
  a_reserved_block_is_poisoned<pool<static_size<64>>>();
  a_reserved_block_is_poisoned<pool<static_size<8>, lock_free>>();
  a_reserved_block_is_poisoned<pool<static_size<64>, checked>>();
}
#endif

}  // namespace
}  // namespace tarn::test

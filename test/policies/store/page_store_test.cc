// page_store and its options: what is mapped, what faults, what goes back. And where the system refuses something, no memory,
// no lock, no more mappings: nothing is left of what was begun.
#include <boost/test/unit_test.hpp>

#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
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

// ---- pages that go back inside a region: page_memory_test.cc, return_empty_pages_test.cc ------------------------------------

/// What smaps says of the mapping that starts there: "name: n kB", in bytes.
std::size_t mapping_bytes(const void* start, const std::string& name) {
  const std::string text = text_of("/proc/self/smaps");
  char first[40];
  std::snprintf(first, sizeof first, "%zx-", reinterpret_cast<std::size_t>(start));
  const std::size_t at = text.find("\n" + name + ":", text.find(first));
  return at == std::string::npos ? detail::size_max : std::strtoull(text.c_str() + at + name.size() + 2, nullptr, 10) * 1024;
}

BOOST_AUTO_TEST_CASE(what_is_freed_lazily_is_held_until_the_system_needs_it, *boost::unit_test::enable_if<!sanitized>()) {
  // The guards make it a mapping of its own, which smaps lists.
  source_of<page_store<guard_pages>> source{page_store<guard_pages>{}};
  const detail::memory region = source.acquire(4 * MiB, 64);
  auto* const start = static_cast<std::byte*>(region.start);
  std::memset(start, 1, region.bytes);
  BOOST_TEST(mapping_bytes(start, "LazyFree") == 0u);
  const detail::memory half{start + 2 * MiB, 2 * MiB};
  BOOST_TEST(source.discard(&half, 1, page_advice::free_lazily) == 1u);
  const std::size_t lazy = mapping_bytes(start, "LazyFree");
  BOOST_TEST(lazy <= 2 * MiB);
  BOOST_TEST(lazy >= 1 * MiB);  // the system notes some of them later
  BOOST_TEST(mapping_bytes(start, "Rss") >= 2 * MiB + lazy);
  std::memset(start, 2, region.bytes);  // who writes a page keeps it
  BOOST_TEST(mapping_bytes(start, "LazyFree") == 0u);
  BOOST_TEST((start[3 * MiB] == std::byte{2}));
  source.release(region, 64);
}

/// A store over another, as a user writes it.
template <class Inner, bool Forwards>
struct wrapping_store : Inner {
  static constexpr store_traits traits = [] {
    store_traits all = Inner::traits.wrapped();
    all.can_discard = Forwards && Inner::traits.can_discard;
    return all;
  }();
  template <class Traits>
  struct source : Inner::template source<Traits> {
    constexpr explicit source(const wrapping_store& store) noexcept : Inner::template source<Traits>(store) {}
  };
};
static_assert(!page_store<>::traits.wrapped().can_discard);

struct promising_store : heap_store {
  static constexpr store_traits traits{.can_discard = true};
};

template <class Store>
constexpr bool is_store = detail::store_members<Store, no_pool>;

BOOST_AUTO_TEST_CASE(a_store_over_another_says_whether_it_discards) {
  BOOST_TEST((is_store<wrapping_store<page_store<>, false>>));  // inherits discard(), which no one calls
  BOOST_TEST((is_store<wrapping_store<page_store<>, true>>));
  BOOST_TEST((is_store<wrapping_store<heap_store, true>>));
  BOOST_TEST(!is_store<promising_store>);
  pool<static_size<64>, wrapping_store<page_store<>, true>> pool;
  pool.deallocate(pool.allocate());
}

// ---- what the system refuses ------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE_TEMPLATE(numbers_that_cannot_be_are_refused, Store, stores) {
  source_of<Store> source{Store{}};
  const std::size_t before = mapped_bytes();
  BOOST_TEST(!source.acquire(detail::size_max, 1));
  BOOST_TEST(!source.acquire(detail::size_limit, 1));
  BOOST_TEST(!source.acquire(detail::size_limit + 1, 4096));
  BOOST_TEST(!source.acquire(1, detail::size_max / 2 + 1));
  BOOST_TEST(!source.acquire(detail::size_limit, detail::size_max / 16 + 1));
  BOOST_TEST(mapped_bytes() == before);
}

/// Leaves a child that must not keep its rights and limits.
bool become_modest(std::size_t bytes_to_lock) {
  const rlimit limit{bytes_to_lock, bytes_to_lock};
  return setrlimit(RLIMIT_MEMLOCK, &limit) == 0 && (geteuid() != 0 || setuid(65534) == 0);
}

BOOST_AUTO_TEST_CASE(a_chunk_that_may_not_be_locked_is_refused, *boost::unit_test::enable_if<!sanitized>()) {
  const auto refused = []<class Store>(std::type_identity<Store>, std::size_t more) {
    return in_child([&] {
      source_of<Store> source{Store{}};
      if (!become_modest(64 * KiB)) return 2;
      const std::size_t mapped = mapped_bytes();
      // Whoever gave up rights may read no more than this.
      const auto resident_bytes = [] { return number_in("/proc/self/statm", 1) * page_bytes(); };
      const std::size_t resident = resident_bytes();
      for (int i = 0; i < 100; ++i)
        if (source.acquire(more, 64 * KiB)) return 3;
      if (mapped_bytes() != mapped) return 4;
      if (resident == 0 || resident_bytes() > resident + 4 * MiB) return 5;  // of 100 chunks, and of what isn't counted at once
      if (locked_bytes() != 0) return 6;
      if constexpr (Store::traits.reports_pages) return source.report().mapped == 0 ? 0 : 7;
      else return source.acquire(16 * KiB, 64) ? 0 : 8;  // as much as may be is given
    });
  };
  BOOST_TEST(refused(std::type_identity<page_store<locked_pages>>{}, 1 * MiB) == 0);
  BOOST_TEST(refused(std::type_identity<page_store<locked_pages, guard_pages>>{}, 1 * MiB) == 0);
  BOOST_TEST(refused(std::type_identity<page_store<locked_pages, huge_pages>>{}, 1) == 0);
  BOOST_TEST(refused(std::type_identity<page_store<guard_pages, huge_pages, locked_pages>>{}, 1) == 0);
  BOOST_TEST(in_child([] {
               pool<static_size<64>, page_store<locked_pages>> pool;
               if (!become_modest(64 * KiB)) return 2;
               std::size_t blocks = 0;
               while (blocks < 1'000'000 && pool.try_allocate() != nullptr) ++blocks;
               if (locked_bytes() > 64 * KiB || blocks < 500 || blocks != pool.capacity()) return 3;
               pool.release();
               return locked_bytes() == 0 && pool.try_allocate() != nullptr ? 0 : 4;
             }) == 0);
}

BOOST_AUTO_TEST_CASE(what_is_refused_is_told) {
  BOOST_TEST(in_child([] {
               pool<static_size<64>, page_store<prefilled>, fixed_growth<16384>> pool;
               pool.deallocate(pool.allocate());
               if (pool.store().refusals().fills != 0) return 2;
               const std::size_t blocks = pool.capacity();
               if (!refuse_calls({SYS_madvise}, ENOMEM)) return 3;  // there is memory to map, and none to fill
               const std::size_t mapped = mapped_bytes();
               if (pool.try_reserve(2 * blocks) || pool.capacity() != blocks || mapped_bytes() != mapped) return 4;
               const page_refusals now = pool.store().refusals();
               return now.fills != 0 && now.locks == 0 && now.error == ENOMEM ? 0 : 5;
             }) == 0);
  // An old system, which doesn't know the call: the pages are touched.
  BOOST_TEST(in_child([] {
               source_of<page_store<prefilled>> source{page_store<prefilled>{}};
               if (!refuse_calls({SYS_madvise}, EINVAL)) return 2;
               const detail::memory region = source.acquire(1 * MiB, 64);
               if (!region || source.refusals().fills != 0) return 3;
               return pages_in(region.start, region.bytes).resident == 1 * MiB / page_bytes() ? 0 : 4;
             }) == 0);
  if (sanitized) return;
  BOOST_TEST(in_child([] {
               pool<static_size<64>, page_store<locked_pages, prefilled>, fixed_growth<16384>> pool;
               if (!become_modest(64 * KiB)) return 2;
               if (pool.try_reserve(16384)) return 3;
               const page_refusals once = pool.store().refusals();
               if (once.locks == 0 || once.fills != 0 || (once.error != ENOMEM && once.error != EAGAIN)) return 4;
               return !pool.try_reserve(16384) && pool.store().refusals().locks > once.locks ? 0 : 5;
             }) == 0);
}

/// A child in which one kind of call fails: the store refuses, and nothing is left of what it had begun.
template <class Store>
int refuse_when_failing(std::initializer_list<long> calls) {
  return in_child([&] {
    source_of<Store> source{Store{}};
    (void)mapped_bytes();
    if (!refuse_calls(calls, ENOMEM)) return 2;
    const std::size_t mapped = mapped_bytes();
    for (int i = 0; i < 100; ++i)
      if (source.acquire(100 * KiB, 64 * KiB)) return 3;
    return mapped_bytes() == mapped ? 0 : 4;
  });
}

BOOST_AUTO_TEST_CASE(where_a_call_of_the_system_fails_nothing_is_left) {
  BOOST_TEST(refuse_when_failing<page_store<>>({SYS_mmap}) == 0);
  BOOST_TEST(refuse_when_failing<page_store<huge_pages>>({SYS_mmap}) == 0);
  BOOST_TEST(refuse_when_failing<page_store<guard_pages>>({SYS_mprotect}) == 0);
  BOOST_TEST((refuse_when_failing<page_store<guard_pages, huge_pages>>({SYS_mprotect}) == 0));
  BOOST_TEST((refuse_when_failing<page_store<prefilled, guard_pages>>({SYS_madvise}) == 0));
  BOOST_TEST((refuse_when_failing<page_store<huge_pages, prefilled>>({SYS_madvise}) == 0));
  if (!sanitized) BOOST_TEST((refuse_when_failing<page_store<locked_pages, guard_pages>>({SYS_mlock}) == 0));
  if (!sanitized) BOOST_TEST((refuse_when_failing<page_store<locked_pages, huge_pages>>({SYS_mlock}) == 0));
}

BOOST_AUTO_TEST_CASE(without_options_only_mmap_and_munmap_are_called) {
  BOOST_TEST(in_child([] {
               source_of<page_store<>> source{page_store<>{}};
               if (!refuse_calls({SYS_mprotect, SYS_madvise, SYS_mlock, SYS_prctl, SYS_openat}, EPERM)) return 2;
               const detail::memory region = source.acquire(1 * MiB, 64 * KiB);
               source.release(region, 64 * KiB);
               return region ? 0 : 3;
             }) == 0);
}

template <class Store>
int release_without_munmap() {
  return in_child([] {
    source_of<Store> source{Store{}};
    const detail::memory region = source.acquire(1 * MiB, 64);
    if (!region) return 0;  // it may not be locked
    std::memset(region.start, 1, region.bytes);
    if (pages_in(region.start, region.bytes).resident != 1 * MiB / page_bytes()) return 2;
    if (!refuse_calls({SYS_munmap}, ENOMEM)) return 3;
    source.release(region, 64);
    const pages left = pages_in(region.start, region.bytes);
    return left.mapped == 1 * MiB / page_bytes() && left.resident == 0 ? 0 : 4;
  });
}

BOOST_AUTO_TEST_CASE(pages_that_the_system_does_not_take_back_are_emptied) {
  BOOST_TEST(release_without_munmap<page_store<guard_pages>>() == 0);
#if defined(MADV_DONTNEED_LOCKED)
  if (madvise(nullptr, 0, MADV_DONTNEED_LOCKED) == 0) BOOST_TEST(release_without_munmap<page_store<locked_pages>>() == 0);
#endif
}

}  // namespace
}  // namespace tarn::test

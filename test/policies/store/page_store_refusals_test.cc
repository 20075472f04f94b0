// page_store where the system refuses something: no memory, no lock, no more mappings. Nothing is left of what was begun.
#include <boost/test/unit_test.hpp>

#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <type_traits>

#include "tarn/allocator/pool.h"
#include "tarn/test/policies/store/page_stores.h"

namespace tarn::test {
namespace {

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

BOOST_AUTO_TEST_CASE(beyond_the_limit_of_the_address_space_a_pool_gets_what_there_is) {
  BOOST_TEST(in_child([] {
               pool<static_size<64>, page_store<guard_pages>, geometric_growth<64, 1'000'000>> pool;
               const rlimit limit{mapped_bytes() + 8 * MiB, mapped_bytes() + 8 * MiB};
               if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
               if (pool.try_reserve(1'000'000)) return 3;  // 64 MB
               const std::size_t mapped = mapped_bytes();
               if (pool.capacity() != 0 || mapped > limit.rlim_cur) return 4;
               std::size_t blocks = 0;
               while (pool.try_allocate() != nullptr) ++blocks;
               pool.release();
               return blocks > 50'000 && mapped_bytes() == mapped ? 0 : 5;
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

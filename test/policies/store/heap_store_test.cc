// heap_store: for which memory it asks for huge pages, and that each region goes back as it came.
#include <malloc.h>
#include <sys/mman.h>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/test/policies/store/page_stores.h"

namespace {

std::size_t aligned_regions = 0;  // that operator new gave and operator delete didn't get

}  // namespace

void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  const auto unit = static_cast<std::size_t>(alignment);
  void* const start = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
  if (start != nullptr) ++aligned_regions;
  return start;
}
void operator delete(void* start, std::align_val_t) noexcept {
  if (start != nullptr) --aligned_regions;
  std::free(start);
}

namespace tarn::test {
namespace {

#if defined(__GLIBC__)
// So that each region is a new mapping: memory for which pages were asked keeps that when it goes back to the heap.
[[maybe_unused]] const int mapped_apart = mallopt(M_MMAP_THRESHOLD, 1024 * 1024);
#endif

/// The bytes of a range for which huge pages were asked.
std::size_t asked_in(const void* start, std::size_t bytes) {
  const std::uintptr_t begin = detail::address_of(start);
  const std::uintptr_t end = begin + bytes;
  std::ifstream smaps("/proc/self/smaps");
  std::uintptr_t first = 0;
  std::uintptr_t last = 0;
  std::size_t asked = 0;
  for (std::string line; std::getline(smaps, line);) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) {
      first = std::max(from, begin);
      last = std::min(to, end);
    } else if (line.starts_with("VmFlags:") && line.find(" hg") != std::string::npos && first < last) {
      asked += last - first;
    }
  }
  return asked;
}
std::size_t asked_in(detail::memory region) { return asked_in(region.start, region.bytes); }

/// Whether the system takes such requests.
bool system_takes_them() {
  void* const start = ::mmap(nullptr, 4 * MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  BOOST_TEST_REQUIRE(start != MAP_FAILED);
  const bool taken = ::madvise(start, 4 * MiB, MADV_HUGEPAGE) == 0 && asked_in(start, 4 * MiB) == 4 * MiB;
  ::munmap(start, 4 * MiB);
  if (!taken) BOOST_TEST_MESSAGE("not looked at: this system has no huge pages on request");
  return taken;
}

using heap = source_of<heap_store>;

BOOST_AUTO_TEST_CASE(the_first_16_mebibytes_are_in_small_pages) {
  if (!system_takes_them()) return;
  heap source{heap_store{}};
  std::vector<detail::memory> regions;
  for (const std::size_t bytes : {4 * MiB, 4 * MiB + 100, 8 * MiB - 100}) {
    regions.push_back(source.acquire(bytes, 64));
    BOOST_TEST(asked_in(regions.back()) == 0u);
  }
  for (const std::size_t bytes : {4 * MiB + 100, 4 * MiB, 64 * MiB}) {
    regions.push_back(source.acquire(bytes, 64));
    BOOST_TEST(regions.back().bytes == detail::round_up(bytes, 2 * MiB));
    BOOST_TEST(asked_in(regions.back()) == regions.back().bytes);
  }
  for (const detail::memory region : regions) source.release(region, 64);
}
BOOST_AUTO_TEST_CASE(also_of_one_large_region) {
  if (!system_takes_them()) return;
  heap source{heap_store{}};
  const detail::memory region = source.acquire(64 * MiB + 100, 64);
  BOOST_TEST(region.bytes == 64 * MiB + 100);
  BOOST_TEST(asked_in(region.start, 16 * MiB) == 0u);
  BOOST_TEST(asked_in(region) >= 44 * MiB);
  source.release(region, 64);
}
BOOST_AUTO_TEST_CASE(what_goes_back_is_not_counted_any_more) {
  if (!system_takes_them()) return;
  heap source{heap_store{}};
  for (int i = 0; i != 10; ++i) {
    const detail::memory region = source.acquire(10 * MiB + 1, 64);
    BOOST_TEST(asked_in(region) == 0u);
    source.release(region, 64);
  }
}
BOOST_AUTO_TEST_CASE(a_pool_has_them_behind_its_first_16_mebibytes) {
  if (!system_takes_them()) return;
  pool<static_size<64>> pool;
  std::vector<std::byte*> blocks(1'000'000);
  for (std::byte*& b : blocks) b = static_cast<std::byte*>(pool.allocate());
  const auto asked = [&](std::size_t i) { return asked_in(blocks[i], 64) != 0; };
  for (std::size_t i = 0; i < 16 * MiB / 64; i += 1000) BOOST_TEST(!asked(i));
  for (std::size_t i = 24 * MiB / 64; i < blocks.size(); i += 10'000) BOOST_TEST(asked(i));
}

// Not from one form of operator new to the other form of operator delete.
BOOST_AUTO_TEST_CASE(regions_go_back_as_they_came) {
  BOOST_TEST_REQUIRE(aligned_regions == 0u);
  heap source{heap_store{}};
  std::mt19937 random{1};
  struct held {
    detail::memory region;
    std::size_t alignment;
  };
  std::vector<held> regions;
  std::size_t most = 0;
  for (int i = 0; i != 500; ++i) {
    if (regions.size() < 8 || random() % 2 != 0) {
      const std::size_t alignment = random() % 2 != 0 ? 16 : 4096;
      const std::size_t bytes = (random() % 5 + 1) * MiB + (random() % 2) * 48;
      regions.push_back({source.acquire(bytes, alignment), alignment});
      BOOST_TEST_REQUIRE(bool{regions.back().region});
    } else {
      std::swap(regions[random() % regions.size()], regions.back());
      source.release(regions.back().region, regions.back().alignment);
      regions.pop_back();
    }
    most = std::max(most, aligned_regions);
  }
  BOOST_TEST(most > 0u);
  for (const held& h : regions) source.release(h.region, h.alignment);
  BOOST_TEST(aligned_regions == 0u);
}
BOOST_AUTO_TEST_CASE(a_size_that_no_memory_has_is_refused) {
  heap source{heap_store{}};
  const detail::memory first = source.acquire(20 * MiB, 64);
  BOOST_TEST(!source.acquire(detail::size_max, 64));
  source.release(first, 64);
}

}  // namespace
}  // namespace tarn::test

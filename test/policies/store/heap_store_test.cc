// heap_store: for which memory it asks for huge pages, and that each region goes back as it came. Here and over pages: how many
// bytes a pool takes for its blocks, for sizes and growth policies in all combinations.
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
#include <unordered_map>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/test/policies/store/exact_store.h"
#include "tarn/test/policies/store/page_stores.h"

namespace {

/// What the forms of operator new that heap_store calls gave, and operator delete didn't get: bytes, by address.
auto& given = *new std::unordered_map<void*, std::size_t>;  // for blocks that are given back at the very end, too
bool noting = false;  // the map's own memory is being had or given back: it can't be asked then
std::size_t aligned_regions = 0;
std::size_t requested = 0;  // bytes, and what is lost to alignment

void* note(void* start, std::size_t bytes) {
  if (start == nullptr) return start;
  noting = true;
  given[start] = bytes;
  noting = false;
  requested += bytes;
  return start;
}
void take_back(void* start) {
  if (!noting && requested != 0) {
    noting = true;
    if (const auto at = given.find(start); at != given.end()) {
      requested -= at->second;
      given.erase(at);
    }
    noting = false;
  }
  asm volatile("" : "+r"(start));  // else g++ sees a block of operator new that is given to free()
  std::free(start);
}

}  // namespace

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return note(std::malloc(bytes), bytes); }
void* operator new(std::size_t bytes) {  // not heap_store
  void* const start = std::malloc(bytes);
  if (start == nullptr) throw std::bad_alloc();
  return start;
}
void operator delete(void* start) noexcept { take_back(start); }
void operator delete(void* start, std::size_t) noexcept { take_back(start); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  const auto unit = static_cast<std::size_t>(alignment);
  void* const start = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
  if (start != nullptr) ++aligned_regions;
  std::size_t lost = 0;
#if defined(__GLIBC__)
  // glibc maps as much more as the alignment; of what it cuts from its heap, the rest stays there. A bit in front says which.
  const auto* const words = static_cast<const std::size_t*>(start);
  if (unit > 64 && start != nullptr && !tarn::test::sanitized && (words[-1] & 2) != 0) lost = unit;
#endif
  return note(start, bytes + lost);
}
void operator delete(void* start, std::align_val_t) noexcept {
  if (start != nullptr) --aligned_regions;
  take_back(start);
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

BOOST_AUTO_TEST_CASE(the_first_16_mebibytes_that_are_out_are_in_small_pages) {
  if (!system_takes_them()) return;
  heap source{heap_store{}};
  for (int i = 0; i != 10; ++i) {
    const detail::memory region = source.acquire(10 * MiB + 1, 64);
    BOOST_TEST(asked_in(region) == 0u);
    source.release(region, 64);  // which counts no more
  }
  std::vector<detail::memory> regions;
  for (const std::size_t bytes : {4 * MiB, 4 * MiB + 100, 8 * MiB - 100}) {
    regions.push_back(source.acquire(bytes, 64));
    BOOST_TEST(asked_in(regions.back()) == 0u);
  }
  for (const std::size_t bytes : {4 * MiB + 100, 4 * MiB, 64 * MiB, heap_store::best_size(4 * MiB, 64)}) {
    regions.push_back(source.acquire(bytes, 64));
    BOOST_TEST(regions.back().bytes - bytes < 256u);
    BOOST_TEST(asked_in(regions.back()) == regions.back().bytes);
  }
  for (const detail::memory region : regions) source.release(region, 64);
  const detail::memory region = source.acquire(64 * MiB + 100, 64);  // nor in the first of one large region
  BOOST_TEST(region.bytes == 64 * MiB + 100);
  BOOST_TEST(asked_in(region.start, 16 * MiB - page_bytes()) == 0u);
  BOOST_TEST(asked_in(region) >= 48 * MiB);
  source.release(region, 64);
}
BOOST_AUTO_TEST_CASE(a_pool_has_them_behind_its_first_16_mebibytes) {
  if (!system_takes_them()) return;
  pool<static_size<64>> pool;
  std::vector<std::byte*> blocks(1'000'000);
  for (std::byte*& b : blocks) b = static_cast<std::byte*>(pool.allocate());
  const auto asked = [&](std::size_t i) { return asked_in(blocks[i], 64) != 0; };
  for (std::size_t i = 0; i < 15 * MiB / 64; i += 1000) BOOST_TEST(!asked(i));
  for (std::size_t i = 17 * MiB / 64; i < blocks.size(); i += 10'000) BOOST_TEST(asked(i));
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
      std::size_t bytes = (random() % 5 + 1) * MiB + (random() % 2) * 48;
      if (random() % 2 != 0) bytes = heap_store::best_size(bytes, 64);
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
  BOOST_TEST(given.empty());
  BOOST_TEST(!source.acquire(detail::size_max, 64));
}
// Aligned requests cost glibc six times as much, and a program that replaces operator new often leaves out that form.
BOOST_AUTO_TEST_CASE(a_small_pool_requests_no_alignment_up_to_a_cache_line) {
  const auto check = [](std::size_t size, std::size_t alignment, std::size_t aligned) {
    pool<dynamic_size> pool{dynamic_size{size, alignment}};
    BOOST_TEST(detail::address_of(pool.allocate()) % alignment == 0);
    BOOST_TEST(given.size() == 1u);
    BOOST_TEST(aligned_regions == aligned, size << ", aligned to " << alignment);
  };
  for (const std::size_t size : {16u, 48u, 64u, 128u, 1000u, 4096u}) {
    check(size, 1, 0);
    check(size, 64, 0);
    check(size, 128, 1);
  }
}
// ---- bytes for blocks ------------------------------------------------------------------------------------------------------

using next_chunk_of = detail::chunk_request (*)(std::size_t last, std::size_t total, std::size_t stride) noexcept;

/// Any growth policy, named when the test runs.
struct any_growth {
  using axis = tarn::axis::growth;
  static constexpr growth_traits traits{};
  next_chunk_of policy;
  detail::chunk_request next_chunk(std::size_t last, std::size_t total, std::size_t stride) const noexcept {
    return policy(last, total, stride);
  }
};
template <class Growth>
detail::chunk_request next_of(std::size_t last, std::size_t total, std::size_t stride) noexcept {
  return Growth{}.next_chunk(last, total, stride);
}
/// One that a user wrote: a thousand blocks more each time, and a bit more is welcome.
detail::chunk_request linear(std::size_t last, std::size_t total, std::size_t) noexcept {
  const std::size_t blocks = total == 0 ? 1000 : last + 1000;
  return {blocks, blocks + 10};
}

constexpr next_chunk_of growths[] = {
    next_of<geometric_growth<>>,
    next_of<geometric_growth<100, 100'000>>,
    next_of<geometric_growth<65'536, 65'536>>,
    next_of<fixed_growth<65'536>>,
    next_of<geometric_growth<1>>,
    next_of<geometric_growth<natural, natural, 3>>,
    next_of<geometric_growth<natural, natural, 2, unlimited, 30'000'000>>,
    next_of<grow_ahead<1000>>,
    next_of<fixed_growth<1>>,
    next_of<fixed_growth<1000>>,
    linear,
};
constexpr std::size_t sizes[] = {16,      24,      64,      100,     1000,        5000,    65'536,    256 * KiB, 300'000,
                                 1 * MiB, 1'500'000, 2 * MiB - 192, 2 * MiB, 4'194'312, 16 * MiB + 8, 64 * MiB};

/// What each chunk may take besides: its record, to the block's alignment; and of pages, what rounding to one adds.
constexpr std::size_t record = 256;

constinit bytes_out out;
template <class Store>
using exact = exact_store<Store, out>;

/// Grows pools of all sizes and growth policies to some 40 MiB, or some hundred chunks. taken() returns the bytes that a pool
/// has, of which `constant` for each chunk aren't counted.
template <class Store, class Taken>
std::size_t check_bytes(std::size_t constant, Taken taken) {
  std::size_t pairs = 0;
  for (const std::size_t size : sizes)
    for (const next_chunk_of& growth : growths) {
      const std::size_t first = growth(0, 0, size).wanted;
      if (first == 0 || first > 160 * MiB / size) continue;  // its cap is less than a block; as much need not be tried
      pool<dynamic_size, any_growth, exact<Store>> pool{dynamic_size{size}, any_growth{growth}};
      const std::size_t chunks = out.calls;
      for (std::size_t n = 1; n <= 200 && pool.capacity() * size < 40 * MiB; ++n)
        if (!pool.try_reserve(pool.capacity() + 1)) break;  // it has reached its cap
      const std::size_t free = (out.calls - chunks) * (record + constant);
      const auto most = static_cast<std::size_t>(1.13 * static_cast<double>(pool.capacity() * size)) + free;
      BOOST_TEST(pool.capacity() != 0u);
      BOOST_TEST(taken() <= most, "blocks of " << size << ", growth " << &growth - growths << ": " << pool.capacity()
                                               << " blocks take " << taken() << " bytes, more than " << most);
      ++pairs;
    }
  return pairs;
}

BOOST_AUTO_TEST_CASE(of_the_heap_a_pool_takes_an_eighth_more_than_its_blocks_at_most) {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 4096);  // so that one pool leaves no hole in the heap for another
#endif
  BOOST_TEST(check_bytes<heap_store>(0, [] { return requested; }) >= 120u);
  BOOST_TEST(out.now == 0u);
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 1024 * 1024);
#endif
}
BOOST_AUTO_TEST_CASE(also_behind_another_store) {
  if (!system_takes_them()) return;
  pool<static_size<64>, static_array_store<10>, fall_back_to<heap_store>> pool;
  std::vector<std::byte*> blocks(500'000);
  for (std::byte*& b : blocks) b = static_cast<std::byte*>(pool.allocate());
  BOOST_TEST(requested * 100 <= pool.capacity() * 64 * 113);
  for (std::size_t i = 17 * MiB / 64; i < blocks.size(); i += 10'000) BOOST_TEST(asked_in(blocks[i], 64) != 0u);
}
BOOST_AUTO_TEST_CASE(of_pages_too_but_for_one_in_each_chunk) {
  BOOST_TEST(check_bytes<page_store<>>(page_bytes(), [] { return out.now.load(); }) >= 120u);
}
BOOST_AUTO_TEST_CASE(and_of_huge_pages_but_for_chunks_smaller_than_one) {
  std::size_t pairs = 0;
  for (const std::size_t size : sizes)
    for (const std::size_t blocks : {1u, 5u, 64u, 1000u, 65'536u, 1'000'000u})
      if (blocks * size >= 2 * MiB && blocks * size <= 160 * MiB) {
        source_of<page_store<huge_pages>> source{page_store<huge_pages>{}};
        const std::size_t bytes = blocks * size + record;
        const detail::memory region = source.acquire(bytes, 64);
        BOOST_TEST(region.bytes <= bytes + std::max(bytes / 8, page_bytes()));
        BOOST_TEST(source.rounded_up(bytes, 64) == region.bytes);
        source.release(region, 64);
        ++pairs;
      }
  BOOST_TEST(pairs > 12u);
  // Where growth leaves the number of blocks open, they fill whole huge pages, if they can.
  for (const std::size_t size : {16u, 64u, 100u, 5000u, 65'536u}) {
    pool<dynamic_size, any_growth, exact<page_store<huge_pages>>> pool{dynamic_size{size}, any_growth{growths[0]}};
    for (int i = 0; i != 8; ++i) {
      pool.reserve(pool.capacity() + 1);
      BOOST_TEST(out.now % (2 * MiB) == 0u);
      BOOST_TEST(out.now - pool.capacity() * size <= out.now / 9);
    }
  }
}

/// Bytes of the heap's regions that are in memory.
std::size_t resident() {
  std::size_t pages = 0;
  for (const auto& [start, bytes] : given) {
    const std::uintptr_t begin = detail::address_of(start) / page_bytes() * page_bytes();
    std::vector<unsigned char> in((detail::address_of(start) + bytes - begin + page_bytes() - 1) / page_bytes());
    if (::mincore(reinterpret_cast<void*>(begin), in.size() * page_bytes(), in.data()) != 0) return 0;
    for (const unsigned char page : in) pages += page & 1;
  }
  return pages * page_bytes();
}
// At its worst just behind 16 MiB: one block of a huge page is in use.
BOOST_AUTO_TEST_CASE(nor_is_more_in_memory) {
  std::string setting;
  std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), setting);
  if (setting.find("[always]") != std::string::npos) return;  // small pools have huge pages, too, unasked
  for (const std::size_t size : {64u, 4096u, 65'536u, 262'144u, 4'194'304u})
    for (const next_chunk_of growth : {growths[0], growths[1], growths[2], growths[3]}) {
      if (growth(0, 0, size).wanted > 160 * MiB / size) continue;
      pool<dynamic_size, any_growth, exact<heap_store>> pool{dynamic_size{size}, any_growth{growth}};
      for (std::size_t used = 0; used < 26 * MiB;) {
        auto* const block = static_cast<std::byte*>(pool.allocate());
        for (std::size_t at = 0; at < size; at += page_bytes()) block[at] = std::byte{1};
        const std::size_t before = used / MiB;
        used += size;
        if (before < 15 || (before == used / MiB && used / 64 % 5000 != 0)) continue;
        const std::size_t now = resident();
        BOOST_TEST(now * 100 <= used * 113 + 100 * 64 * KiB, size << " bytes, " << used << " in use, in memory " << now);
      }
    }
}

#if defined(__GLIBC__)
// A heap that cuts large regions from one piece, as glibc's does once it got one as large back.
BOOST_AUTO_TEST_CASE(nor_of_addresses_where_the_heap_maps_nothing_by_itself) {
  if (sanitized || !system_takes_them()) return;
  mallopt(M_MMAP_THRESHOLD, 32 * 1024 * 1024);
  const std::size_t before = mapped_bytes();
  {
    pool<static_size<64>> pool;
    std::vector<std::byte*> blocks(1'000'000);
    for (std::byte*& b : blocks) b = static_cast<std::byte*>(pool.allocate());
    BOOST_TEST(mapped_bytes() - before < blocks.size() * (64 + sizeof(void*)) / 100 * 113);
    for (std::size_t i = 17 * MiB / 64; i < blocks.size(); i += 10'000) BOOST_TEST(asked_in(blocks[i], 64) != 0u);
  }
  mallopt(M_MMAP_THRESHOLD, 1024 * 1024);
}
#endif

}  // namespace
}  // namespace tarn::test

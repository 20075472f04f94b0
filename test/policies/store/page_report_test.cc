// What a page_store with huge_pages says of them, against what the system shows by other ways.
#include <boost/test/unit_test.hpp>

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tarn/allocator/pool.h"
#include "tarn/policies/store/page_store.h"
#include "tarn/test/policies/store/page_stores.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

using store = page_store<huge_pages>;
using guarded_store = page_store<guard_pages, huge_pages>;

std::vector<detail::process_mapping> read_map(std::string_view text) {
  std::vector<detail::process_mapping> seen;
  const auto visit = [&](const detail::process_mapping& m) { seen.push_back(m); };
  detail::process_map_reader<decltype(visit)> reader(visit);
  for (const char c : text) reader.take(c);
  reader.end();
  return seen;
}

BOOST_AUTO_TEST_CASE(the_map_of_a_process_is_read) {
  const std::string long_path = "/" + std::string(300, 'R') + "ss: 77 kB";
  const auto seen = read_map("00400000-0040b000 r-xp 00000000 fe:00 2470                        " + long_path +
                             "\nSize:                 44 kB\nRss:                   8 kB\nShared_Clean:  8 kB\n"
                             "AnonHugePages:         0 kB\nTHPeligible:           0\nVmFlags: rd mr mw me \n"
                             "7f2841dec000-7f284200c000 rw-p 00000000 00:00 0 \nRss:  2116 kB\nAnonHugePages:      2048 kB\n"
                             "ShmemPmdMapped:     9 kB\nTHPeligible:    1\n"
                             "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\nRss:  4 kB\n");
  BOOST_TEST_REQUIRE(seen.size() == 3u);
  BOOST_TEST((seen[0].first == 0x400000 && seen[0].last == 0x40b000 && seen[0].resident == 8 * KiB && seen[0].huge == 0));
  BOOST_TEST(!seen[0].may_be_huge);
  BOOST_TEST((seen[1].first == 0x7f2841dec000 && seen[1].last == 0x7f284200c000));
  BOOST_TEST((seen[1].resident == 2116 * KiB && seen[1].huge == 2 * MiB && seen[1].may_be_huge));
  BOOST_TEST((seen[2].last == 0xffffffffff601000 && seen[2].resident == 4 * KiB && seen[2].huge == 0));
  BOOST_TEST(seen[2].may_be_huge);  // an old kernel doesn't say
  BOOST_TEST(read_map("").empty());

  BOOST_TEST((seen[0].overlap(0x400000, 0xb000) == 0xb000 && seen[0].overlap(0x40a000, 0xb000) == 0x1000));
  BOOST_TEST((seen[0].overlap(0x3f0000, 0x10001) == 1 && seen[0].overlap(0, MiB * 99) == 0xb000));
  BOOST_TEST((seen[0].overlap(0x40b000, 1) == 0 && seen[0].overlap(0x3f0000, 0x10000) == 0));
}

BOOST_AUTO_TEST_CASE(this_process_is_read_to_its_end) {
  std::size_t n = 0;
  std::uintptr_t last = 0;
  bool ascending = true, here = false;
  BOOST_TEST_REQUIRE(detail::each_process_mapping([&](const detail::process_mapping& m) {
    ++n;
    ascending = ascending && m.first >= last && m.first < m.last;
    last = m.last;
    here = here || m.overlap(detail::address_of(&n), 1) == 1;
  }));
  BOOST_TEST(n == mappings());
  BOOST_TEST(ascending);
  BOOST_TEST(here);  // the stack, near the end
}

/// Bytes in huge pages within a range, by a reading of our own. Chunks are mappings of their own.
std::size_t huge_bytes(detail::memory region) {
  std::ifstream smaps("/proc/self/smaps");
  std::size_t bytes = 0;
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long first = 0, last = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2)
      inside = first <= detail::address_of(region.start) && detail::address_of(region.start) < last;
    else if (inside && line.starts_with("AnonHugePages:"))
      bytes += std::stoul(line.substr(14)) * KiB;
  }
  return bytes;
}

/// Whether the system's switch for huge pages stands on the word, or there is none.
bool switch_says(const char* word) {
  std::ifstream setting("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string words;
  return !std::getline(setting, words) || words.find(word) != std::string::npos;
}
bool switched_off() { return switch_says("[never]") || prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1; }

template <class Store>
void check_counts(called_from = {}) {
  source_of<Store> source{Store{}};
  BOOST_TEST((source.report().mapped == 0 && source.report().resident == 0 && source.report().huge == 0));
  BOOST_TEST(source.report().measured);
  const bool off = switched_off();
  std::vector<detail::memory> regions;
  std::size_t mapped = 0;
  for (const std::size_t n : {1u, 3u, 1u, 2u, 5u, 1u, 4u}) {
    regions.push_back(source.acquire(n * 2 * MiB, 64));
    mapped += n * 2 * MiB;
    BOOST_TEST(source.report().mapped == mapped);
  }
  source_of<Store> other{Store{}};  // whose chunks don't count
  const detail::memory others = other.acquire(6 * MiB, 64);
  std::memset(others.start, 1, others.bytes);
  if (Store::locked) BOOST_TEST(source.report().resident == mapped);
  else BOOST_TEST(source.report().resident == 0u);

  std::size_t filled = 0, huge = 0;
  for (const std::size_t i : {0u, 1u, 4u}) {
    std::memset(regions[i].start, 1, regions[i].bytes);
    filled += regions[i].bytes;
    huge += huge_bytes(regions[i]);
  }
  const page_report full = source.report();
  std::printf("%zu bytes filled, %zu in huge pages; the switch is %s\n", filled, full.huge, off ? "off" : "on");
  BOOST_TEST(full.resident == filled);
  BOOST_TEST(full.huge == huge);
  BOOST_TEST(full.refused == (off ? mapped : 0));
  BOOST_TEST((full.huge > 0) == !off);

  // From the middle, the end and the start of whatever list there is.
  for (const std::size_t i : {3u, 6u, 0u, 1u, 5u, 2u, 4u}) {
    source.release(regions[i], 64);
    mapped -= regions[i].bytes;
    if (i == 0 || i == 1 || i == 4) filled -= regions[i].bytes;
    const page_report now = source.report();
    BOOST_TEST(now.mapped == mapped);
    BOOST_TEST(now.resident == filled);
    BOOST_TEST(now.huge <= filled);
    BOOST_TEST(now.refused == (off ? mapped : 0));
  }
  BOOST_TEST(other.report().resident == others.bytes);
  other.release(others, 64);
  const page_report again = source.report();
  BOOST_TEST((again.mapped == 0 && again.refused == 0 && again.resident == 0 && again.huge == 0));
}

BOOST_AUTO_TEST_CASE(counts_are_those_of_the_system) { check_counts<store>(); }
BOOST_AUTO_TEST_CASE(counts_are_those_of_the_system_beside_guards) { check_counts<guarded_store>(); }

BOOST_AUTO_TEST_CASE(prefilled_chunks_lie_in_huge_pages_before_they_are_used) {
  using filled = page_store<prefilled, huge_pages>;
  source_of<filled> source{filled{}};
  const detail::memory region = source.acquire(16 * MiB, 64);
  const page_report now = source.report();
  BOOST_TEST(now.resident == 16 * MiB);
  BOOST_TEST((now.huge > 0) == !switched_off());
  source.release(region, 64);
}

/// A child in which huge pages can't be had: what its report says.
template <class Refuse>
int report_when(Refuse refuse, bool measured) {
  return in_child([&] {
    source_of<store> source{store{}};
    if (!refuse()) return 2;
    const detail::memory regions[] = {source.acquire(4 * MiB, 64), source.acquire(1, 64)};
    for (const detail::memory region : regions) {
      if (!region) return 3;  // the pool works all the same
      std::memset(region.start, 1, region.bytes);
    }
    const page_report now = source.report();
    if (now.mapped != 6 * MiB || now.huge != 0 || now.measured != measured) return 4;
    if (now.resident != (measured ? 6 * MiB : 0)) return 5;
    if (now.refused != 6 * MiB) return 6;
    source.release(regions[0], 64);
    return source.report().refused == 2 * MiB ? 0 : 7;
  });
}

BOOST_AUTO_TEST_CASE(what_is_not_granted_is_reported) {
  // As with the switch on "never": asking succeeds, and nothing is granted.
  BOOST_TEST(report_when([] { return prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0; }, true) == 0);
  if (switch_says("[always]")) return;  // who isn't asked gives huge pages there
  BOOST_TEST(report_when([] { return refuse_calls({SYS_madvise}, EINVAL); }, true) == 0);
  BOOST_TEST(report_when([] { return refuse_calls({SYS_madvise, SYS_openat}, ENOENT); }, false) == 0);
}

BOOST_AUTO_TEST_CASE(a_chunk_may_be_in_several_mappings) {
  source_of<store> source{store{}};
  const detail::memory regions[] = {source.acquire(4 * MiB, 64), source.acquire(2 * MiB, 64)};
  for (const detail::memory region : regions) std::memset(region.start, 1, region.bytes);
  for (const detail::memory region : regions)  // as a user may, and as the system splits them
    BOOST_TEST_REQUIRE(mprotect(static_cast<std::byte*>(region.start) + MiB, 64 * KiB, PROT_READ) == 0);
  BOOST_TEST(source.report().resident == 6 * MiB);
  BOOST_TEST(source.report().huge <= 6 * MiB);
  for (const detail::memory region : regions) source.release(region, 64);
  BOOST_TEST(source.report().resident == 0u);
}

BOOST_AUTO_TEST_CASE(no_file_is_left_open) {
  source_of<store> source{store{}};
  const int next = open("/dev/null", O_RDONLY);
  close(next);
  BOOST_TEST(source.report().measured);
  const int then = open("/dev/null", O_RDONLY);
  close(then);
  BOOST_TEST(then == next);
}

BOOST_AUTO_TEST_CASE(many_chunks_in_any_order_are_read_in_one_go) {
  constexpr std::size_t chunks = 304;
  source_of<store> source{store{}};
  std::vector<detail::memory> regions;
  for (std::size_t i = 0; i < chunks; ++i) regions.push_back(source.acquire(1, 64));
  const auto goes = [](std::size_t i) { return i % 16 < 8; };  // holes that are large enough for others, and their slack
  for (std::size_t i = 0; i < chunks; ++i)
    if (goes(i)) source.release(regions[i], 64);
  bool higher = false;
  for (std::size_t i = 0; i < chunks; ++i)
    if (goes(i)) {
      regions[i] = source.acquire(1, 64);
      higher = higher || regions[i].start > regions[15].start;
    }
  BOOST_TEST(higher);  // so that the newest isn't the lowest
  std::size_t huge = 0, small = 0;
  for (std::size_t i = 0; i < chunks; i += 7) {
    *static_cast<std::byte*>(regions[i].start) = std::byte{1};
    const std::size_t granted = huge_bytes(regions[i]);
    huge += granted;
    small += granted == 0 ? page_bytes() : 0;
  }
  const page_report full = source.report();
  BOOST_TEST(full.mapped == chunks * 2 * MiB);
  BOOST_TEST(full.huge == huge);
  BOOST_TEST(full.resident == huge + small);
  for (std::size_t i = 0; i < chunks; ++i) {
    const std::size_t other = (i * 77) % chunks;
    source.release(regions[other], 64);
    if (i % 50 == 0) BOOST_TEST(source.report().mapped == (chunks - 1 - i) * 2 * MiB);
  }
  BOOST_TEST(source.report().mapped == 0u);
}

}  // namespace
}  // namespace tarn::test

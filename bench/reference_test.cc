// The references are measured against, so they must be right: every block aligned and apart from all others that live, over
// random allocations and frees with a stamp in every word. The seed is printed, and read from TARN_SEED.

#include "tarn/bench/reference.h"
#include "tarn/bench/reference_allocator.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

namespace {

template <std::size_t Bytes, template <std::size_t> class Reference>
struct subject {
  static constexpr std::size_t words = Bytes / sizeof(std::uint64_t);
  Reference<Bytes> allocator;
  std::vector<std::pair<std::uint64_t*, std::uint64_t>> live;
  std::uint64_t next_stamp = 1;
  std::size_t faults = 0;

  void take() {
    auto* const block = static_cast<std::uint64_t*>(allocator.take());
    if (reinterpret_cast<std::uintptr_t>(block) % alignof(std::uint64_t) != 0) ++faults;
    for (std::size_t i = 0; i < words; ++i) block[i] = next_stamp;
    live.emplace_back(block, next_stamp++);
  }
  void give(std::size_t index) {
    std::swap(live[index], live.back());
    const auto [block, stamp] = live.back();
    live.pop_back();
    for (std::size_t i = 0; i < words; ++i) faults += block[i] != stamp;
    allocator.give(block);
  }
};

template <std::size_t Bytes>
using list = tarn_bench::bare_list<Bytes>;
template <std::size_t Bytes>
using list_huge = tarn_bench::bare_list<Bytes, tarn_bench::huge_source>;
template <std::size_t Bytes>
using front = tarn_bench::bare_front<Bytes>;
template <std::size_t Bytes>
using front_fixed = tarn_bench::bare_front<Bytes, tarn_bench::heap_source, tarn_bench::fixed_front>;
template <std::size_t Bytes>
using front_huge = tarn_bench::bare_front<Bytes, tarn_bench::huge_source>;

using subjects = boost::mpl::list<subject<8, list>, subject<256, list>, subject<64, list_huge>,  //
                                  subject<16, front>, subject<40, front>, subject<64, front>, subject<72, front>,  //
                                  subject<136, front>, subject<256, front>, subject<1024, front>,  //
                                  subject<64, front_fixed>, subject<16, front_huge>, subject<256, front_huge>>;

std::uint64_t seed() {
  const char* const given = std::getenv("TARN_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 20240229;
}

BOOST_AUTO_TEST_SUITE(reference)

/// The number of live blocks swings, so that the front grows, spills, refills and carves: 3 million operations.
BOOST_AUTO_TEST_CASE_TEMPLATE(random_churn_keeps_every_stamp, Subject, subjects) {
  BOOST_TEST_MESSAGE("TARN_SEED=" << seed());
  std::mt19937_64 random{seed()};
  Subject s;
  for (std::size_t step = 0; step < 3'000'000; ++step) {
    const bool growing = step / 20'000 % 2 == 0;
    const bool take = s.live.empty() || random() % 8 < (growing ? 5U : 3U);
    take ? s.take() : s.give(random() % s.live.size());
  }
  while (!s.live.empty()) s.give(s.live.size() - 1);
  BOOST_TEST(s.faults == 0U);
}

/// Everything freed in random order and taken again gives the same blocks: nothing is lost, nothing comes twice.
BOOST_AUTO_TEST_CASE_TEMPLATE(what_was_freed_is_handed_out_again, Subject, subjects) {
  std::mt19937_64 random{seed()};
  Subject s;
  std::vector<void*> first;
  for (std::size_t i = 0; i < 20'000; ++i) s.take();
  for (const auto& [block, stamp] : s.live) first.push_back(block);
  while (!s.live.empty()) s.give(random() % s.live.size());
  for (std::size_t i = 0; i < 20'000; ++i) s.take();
  std::vector<void*> second;
  for (const auto& [block, stamp] : s.live) second.push_back(block);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  // The run that was being carved may give a few blocks before the batches are asked.
  std::size_t same = 0;
  for (void* const block : second) same += std::binary_search(first.begin(), first.end(), block);
  BOOST_TEST(same + 4096U >= first.size());
  BOOST_TEST((std::adjacent_find(second.begin(), second.end()) == second.end()));
  while (!s.live.empty()) s.give(s.live.size() - 1);
  BOOST_TEST(s.faults == 0U);
}

/// Blocks of all sizes: each is aligned as its size lets it, has as many bytes as were asked for, and shares none with another.
BOOST_AUTO_TEST_CASE(a_table_serves_every_size) {
  struct piece {
    unsigned char* block;
    std::size_t bytes;
    unsigned char stamp;
  };
  std::mt19937_64 random{seed()};
  tarn_bench::bare_table table;
  for (int round = 0; round < 3; ++round) {
    std::vector<piece> live;
    std::size_t faults = 0;
    const auto give = [&](std::size_t index) {
      std::swap(live[index], live.back());
      const auto [block, bytes, stamp] = live.back();
      live.pop_back();
      for (std::size_t i = 0; i < bytes; ++i) faults += block[i] != stamp;
      table.give(block, bytes);
    };
    for (std::size_t step = 0; step < 200'000; ++step) {
      if (live.empty() || random() % 8 < (step / 20'000 % 2 == 0 ? 5U : 3U)) {
        // Small sizes as often as large ones; the edges of the classes often.
        const std::size_t power = std::size_t{1} << random() % 13;
        const std::size_t bytes = random() % 4 == 0 ? power : 1 + random() % power;
        auto* const block = static_cast<unsigned char*>(table.take(bytes));
        const std::size_t alignment = bytes <= 16 ? 16 : bytes <= 32 ? 32 : 64;
        faults += reinterpret_cast<std::uintptr_t>(block) % alignment != 0;
        const auto stamp = static_cast<unsigned char>(step);
        std::fill_n(block, bytes, stamp);
        live.push_back({block, bytes, stamp});
      } else {
        give(random() % live.size());
      }
    }
    while (!live.empty()) give(live.size() - 1);
    BOOST_TEST(faults == 0U);
    tarn_bench::start_anew(table);
  }
}

/// Containers with the allocator hold what those of the standard hold, and a released list starts anew.
BOOST_AUTO_TEST_CASE(containers_hold_the_same) {
  using tarn_bench::bare_allocator;
  using text = std::basic_string<char, std::char_traits<char>, bare_allocator<char>>;
  struct alignas(16) wide {
    std::size_t value[2];
  };
  std::mt19937_64 random{seed()};
  for (int round = 0; round < 3; ++round) {
    std::list<wide, bare_allocator<wide>> list;
    std::map<int, text, std::less<>, bare_allocator<std::pair<const int, text>>> map;
    std::unordered_map<int, int, std::hash<int>, std::equal_to<>, bare_allocator<std::pair<const int, int>>> hashed;
    std::list<wide> expected_list;
    std::map<int, std::string> expected_map;
    std::unordered_map<int, int> expected_hashed;
    for (std::size_t i = 0; i < 20'000; ++i) {
      const int key = static_cast<int>(random() % 5000);
      const std::size_t length = random() % 300;
      list.push_back({{i, i}});
      expected_list.push_back({{i, i}});
      if (random() % 3 == 0) {
        BOOST_TEST(map.erase(key) == expected_map.erase(key));
        BOOST_TEST(hashed.erase(key) == expected_hashed.erase(key));
        list.pop_front();
        expected_list.pop_front();
      } else {
        map[key].assign(length, 'x');
        expected_map[key].assign(length, 'x');
        hashed[key] = key;
        expected_hashed[key] = key;
      }
    }
    const auto same_wide = [](const wide& a, const wide& b) { return a.value[0] == b.value[0] && a.value[1] == b.value[1]; };
    const auto same_entry = [](const auto& a, const auto& b) {
      return a.first == b.first && std::string_view{a.second} == std::string_view{b.second};
    };
    BOOST_TEST(std::equal(list.begin(), list.end(), expected_list.begin(), expected_list.end(), same_wide));
    BOOST_TEST(std::equal(map.begin(), map.end(), expected_map.begin(), expected_map.end(), same_entry));
    BOOST_TEST(hashed.size() == expected_hashed.size());
    for (const auto& [key, value] : expected_hashed) BOOST_TEST(hashed.at(key) == value);
    for (const wide& each : list) BOOST_TEST(reinterpret_cast<std::uintptr_t>(&each) % alignof(wide) == 0U);
    std::size_t heap = 1;  // beyond the largest class
    {
      const std::vector<char, bare_allocator<char>> large(tarn_bench::bare_table::largest + 1, 'y');
      heap = large.size();
    }
    BOOST_TEST(heap == tarn_bench::bare_table::largest + 1);
    list.clear();
  }
  tarn_bench::start_anew(bare_allocator<char>::arrays());
  tarn_bench::start_anew(tarn_bench::static_list<32>);
  void* const block = tarn_bench::static_list<32>.take();
  void* const next = tarn_bench::static_list<32>.take();
  BOOST_TEST(static_cast<char*>(next) - static_cast<char*>(block) == 32);  // carved: nothing is left of the old free list
  tarn_bench::start_anew(tarn_bench::static_list<32>);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

// The references are measured against, so they must be right: every block aligned and apart from all others that live, over
// random allocations and frees with a stamp in every word. The seed is printed, and read from TARN_SEED.

#include "tarn/bench/reference.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

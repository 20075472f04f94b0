// An hour of churn over libtarn_malloc, in the nightly tier: the process' resident memory doesn't grow. Four threads, new ones
// in each round, replace blocks of 1 byte to 1 MiB in a table that they share. So most blocks are freed by another thread than
// the one that took them. The usual sizes differ from round to round, which fragments memory; each cycle has the same rounds.
//
// The peak of each later cycle is at most an eighth and 8 MiB above the highest of the second to twentieth. By hand, without
// TARN_NIGHTLY, it takes a few seconds and is warm after four cycles. TARN_CHURN_SECONDS sets another time.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tarn/test/support/check.h"
#include "tarn/test/support/model.h"

namespace tarn::test {
namespace {

constexpr std::size_t mib = 1024 * 1024;
constexpr unsigned threads = 4, rounds_of_cycle = 8, few_cycles = 4, many_cycles = 20;

std::size_t resident() {
  std::size_t all = 0, pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  const int read = file != nullptr ? std::fscanf(file, "%zu %zu", &all, &pages) : 0;
  if (file != nullptr) std::fclose(file);
  REQUIRE(read == 2);
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Each word has its own place; the thread that exchanges it has the block alone.
struct block {
  std::uint32_t bytes;
  unsigned char bytes_behind[1];
};
using table = std::vector<std::atomic<block*>>;

/// Sizes of a round: mostly around a place that moves, some of all, few large.
std::size_t some_bytes(std::minstd_rand& dice, unsigned round) {
  const std::size_t what = dice() % 1000;
  if (what < 2) return 32 * 1024 + dice() % mib;
  if (what < 20) return 1024 + dice() % (31 * 1024);
  if (what < 300) return 1 + dice() % 1024;
  return 1 + dice() % (std::size_t{16} << round % rounds_of_cycle);
}
bool is_whole(const block* its) {
  return its->bytes < 2 || its->bytes_behind[its->bytes - 1] == static_cast<unsigned char>(its->bytes);
}
block* mark(void* memory, std::size_t bytes) {
  auto* const its = static_cast<block*>(memory);
  REQUIRE(its != nullptr);
  its->bytes = static_cast<std::uint32_t>(bytes);
  its->bytes_behind[bytes - 1] = static_cast<unsigned char>(bytes);
  return its;
}
block* make(std::minstd_rand& dice, unsigned round) {
  const std::size_t bytes = some_bytes(dice, round);
  return mark(dice() % 8 != 0 ? std::malloc(sizeof(block) + bytes) : std::calloc(1, sizeof(block) + bytes), bytes);
}

struct churn {
  table all = table(20'000);
  unsigned lost_of_a_million = 0;  // blocks that nobody frees: a leak, to be found
  std::atomic<unsigned> spoiled = 0;

  void drop(block* its) {
    if (its != nullptr) spoiled += !is_whole(its);
    std::free(its);
  }
  void work(unsigned round, unsigned seed) {
    std::minstd_rand dice(seed + 1);
    for (unsigned i = 0; i != 40'000; ++i) {
      std::atomic<block*>& place = all[dice() % all.size()];
      if (dice() % 10 != 0) {
        block* const before = place.exchange(make(dice, round));
        if (dice() % 1'000'000 >= lost_of_a_million) drop(before);
      } else if (block* const its = place.exchange(nullptr)) {
        spoiled += !is_whole(its);
        const std::size_t bytes = some_bytes(dice, round);
        drop(place.exchange(mark(std::realloc(its, sizeof(block) + bytes), bytes)));
      }
    }
  }
  /// The highest resident memory between rounds.
  std::size_t cycle(unsigned number) {
    std::size_t highest = 0;
    for (unsigned round = 0; round != rounds_of_cycle; ++round) {
      std::vector<std::thread> workers;
      for (unsigned i = 0; i != threads; ++i)
        workers.emplace_back([=, this] { work(round, (number * rounds_of_cycle + round) * threads + i); });
      for (std::thread& one : workers) one.join();
      highest = std::max(highest, resident());
    }
    return highest;
  }
  void end() {
    for (auto& place : all) drop(place.exchange(nullptr));
    malloc_trim(0);
  }
};

struct peaks {
  const std::size_t warm_cycles;
  std::size_t warm = 0, highest = 0, cycles = 0;

  void note(std::size_t peak) {
    if (cycles != 0 && cycles < warm_cycles) warm = std::max(warm, peak);
    if (cycles >= warm_cycles) highest = std::max(highest, peak);
    ++cycles;
  }
  bool have_grown() const { return highest > warm + warm / 8 + 8 * mib; }
};

std::chrono::seconds time_for_all() {
  if (const char* const seconds = std::getenv("TARN_CHURN_SECONDS")) return std::chrono::seconds(std::atoi(seconds));
  return std::chrono::seconds(patience() != 1 ? 3600 : 0);
}

BOOST_AUTO_TEST_CASE(an_hour_of_churn_does_not_grow) {
  const auto its = std::make_unique<churn>();
  const std::size_t before = resident();
  const auto seconds = time_for_all();
  const auto end = std::chrono::steady_clock::now() + seconds;
  peaks seen{.warm_cycles = seconds.count() != 0 ? many_cycles : few_cycles};
  while (seen.cycles < 2 * seen.warm_cycles || std::chrono::steady_clock::now() < end)
    seen.note(its->cycle(static_cast<unsigned>(seen.cycles)));
  its->end();
  std::printf("%zu cycles: %zu MiB at their peak when warm, %zu later; %zu after all, %zu before\n", seen.cycles,
              seen.warm / mib, seen.highest / mib, resident() / mib, before / mib);
  CHECK(!seen.have_grown());
  CHECK(its->spoiled == 0);
  CHECK(resident() < before + 16 * mib);
}

/// The same with one block in two hundred that nobody frees.
BOOST_AUTO_TEST_CASE(a_leak_is_growth) {
  churn its;
  its.lost_of_a_million = 5000;
  peaks seen{.warm_cycles = few_cycles};
  for (unsigned i = 0; i != 4 * few_cycles; ++i) seen.note(its.cycle(i));
  its.end();
  CHECK(seen.have_grown());
}

}  // namespace
}  // namespace tarn::test

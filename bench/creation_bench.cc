// Question: what does it cost that a pool exists, and that it grows?
//
//   make        making a pool and taking one block from a chunk of a million 16-byte blocks, where the heap has the memory
//   make_fresh  the same where the system has to map it: each chunk is new. `pages` counts the pages touched (page faults)
//   resident    bytes resident for each live byte: a million 16-byte blocks
//   slowest     the slowest single allocation, with the first write to its block, while growing to a million 64-byte blocks
//               (no huge pages), and its p99.9. One interruption by the system lasts longer than that, so the report takes
//               the least of the repetitions
//   slowest_huge_pages   the same with what huge pages the allocator asks for: the system clears 2 MiB at once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include <sys/prctl.h>
#include <sys/resource.h>

#include "tarn/bench/allocators.h"
#include "tarn/bench/compositions.h"
#include "tarn/bench/loops.h"

namespace tarn_bench {
namespace {

constexpr const char* table = "creation";
constexpr std::size_t million = 1'000'000;

/// Pools whose first chunk holds a million blocks.
struct million_source : heap_source {
  static constexpr std::size_t smallest = million * 16;
};
struct million_list : bare_list<16, million_source> {
  static constexpr const char* name = "bare_list";
};
struct million_front : bare_front<16, million_source> {
  static constexpr const char* name = "bare_front";
};
struct million_boost {
  static constexpr const char* name = "boost_pool";
  void* take() { return pool_.malloc(); }
  void give(void* block) { pool_.free(block); }

 private:
  boost::pool<> pool_{16, million};
};
struct million_tarn : pooled<tarn::pool<tarn::static_size<16>, tarn::fixed_growth<million>>> {
  static constexpr const char* name = "tarn_default";
};
struct million_tarn_lifo : pooled<tarn::pool<tarn::static_size<16>, tarn::fixed_growth<million>, tarn::lifo_reuse<>>> {
  static constexpr const char* name = "tarn_lifo";
};
using makers = columns<million_boost, million_list, million_front, million_tarn, million_tarn_lifo>;

using clock = std::chrono::steady_clock;

long page_faults() {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}
long preemptions() {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The median of some makings; the first, which may find a heap without memory, doesn't count.
template <class Column>
void make_pools(benchmark::State& state) {
  // The pool's own bytes are there before the clock runs, as those of a local or static object mostly are.
  alignas(Column) static std::byte room[sizeof(Column)];
  std::vector<double> times, pages;
  for (auto _ : state) {
    for (int i = 0; i < 12; ++i) {
      const long faults = page_faults();
      const clock::time_point start = clock::now();
      Column* const column = ::new (room) Column;
      void* const block = take_block(*column, 1);
      const std::chrono::duration<double> took = clock::now() - start;
      if (i != 0) {
        pages.push_back(static_cast<double>(page_faults() - faults));
        times.push_back(took.count());
      }
      column->give(block);
      column->~Column();
    }
    state.SetIterationTime(median(times));
  }
  report(state, 1);
  state.counters["pages"] = median(pages);
}

constexpr auto make = []<class Column>(benchmark::State& state) {
  // The heap keeps what was freed: what glibc arrives at by itself once a large chunk was freed.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  make_pools<Column>(state);
};
constexpr auto make_fresh = []<class Column>(benchmark::State& state) {
  fix_heap_thresholds();
  make_pools<Column>(state);
};

/// Bytes of this process in memory, counted from its page tables; statm's figure lags by up to 64 pages for each core.
double resident_bytes() {
  double kilobytes = 0;
  if (std::FILE* const file = std::fopen("/proc/self/smaps_rollup", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr)
      if (std::sscanf(line, "Rss: %lf kB", &kilobytes) == 1) break;
    std::fclose(file);
  }
  return kilobytes * 1024;
}

constexpr auto resident = []<class Column>(benchmark::State& state) {
  fix_heap_thresholds();
  const std::size_t count = scaled(million);
  resident_bytes();  // its buffers are part of what was there before
  for (auto _ : state) {
    start_cold();
    auto column = std::make_optional<Column>();
    const double before = resident_bytes();
    void* chain = nullptr;  // the live blocks are linked through their first words: no array to account for
    for (std::size_t i = 0; i < count; ++i) {
      void* const block = column->take();
      *static_cast<void**>(block) = chain;
      chain = block;
    }
    state.counters["bytes_per_byte"] = (resident_bytes() - before) / static_cast<double>(count * 16);
    while (chain != nullptr) column->give(std::exchange(chain, *static_cast<void**>(chain)));
    state.SetIterationTime(1);  // the figure is the counter
  }
};

/// While it lives, this process gets small pages only.
struct no_huge_pages {
  no_huge_pages() { ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }
  ~no_huge_pages() { ::prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0); }
  no_huge_pages(const no_huge_pages&) = delete;
  no_huge_pages& operator=(const no_huge_pages&) = delete;
};

template <class Column>
void grow_to_a_million(benchmark::State& state) {
  fix_heap_thresholds();
  std::vector<float> times(scaled(million));
  std::vector<void*> live(times.size());
  for (auto _ : state) {
    start_cold();
    std::optional<Column> column{std::in_place};
    float worst = 0;
    long seen = preemptions();
    clock::time_point before = clock::now();
    for (std::size_t i = 0; i < times.size(); ++i) {
      live[i] = take_block(*column, i);
      const clock::time_point after = clock::now();
      times[i] = std::chrono::duration<float>(after - before).count();
      before = after;
      if (times[i] > worst) {
        // Another process that had the processor for milliseconds is no property of the allocator.
        const long now = preemptions();
        if (now == seen) worst = times[i];
        seen = now;
        before = clock::now();
      }
    }
    empty(*column, live);
    const auto at = times.begin() + static_cast<std::ptrdiff_t>(times.size() - times.size() / 1000);
    std::nth_element(times.begin(), at, times.end());
    state.counters["p999"] = *at;
    state.SetIterationTime(worst);
  }
  report(state, 1);
}
constexpr auto slowest = []<class Column>(benchmark::State& state) {
  const no_huge_pages small;
  grow_to_a_million<Column>(state);
};
constexpr auto slowest_huge_pages = []<class Column>(benchmark::State& state) { grow_to_a_million<Column>(state); };

}  // namespace

void register_benchmarks() {
  add(table, "make", makers{}, make, one_manual_pass);
  add(table, "make_fresh", makers{}, make_fresh, one_manual_pass);
  add(table, "resident",
      columns<new_delete<16>, boost_pool<16>, pmr_unsync<16>, list<16>, front<16>, tarn_default<16>, tarn_lifo<16>,
              million_tarn>{},
      resident, one_manual_pass);
  add(table, "slowest",
      columns<new_delete<64>, boost_pool<64>, pmr_unsync<64>, list<64>, front<64>, tarn_default<64>, tarn_lifo<64>>{}, slowest,
      one_manual_pass);
  add(table, "slowest_huge_pages", columns<new_delete<64>, tarn_default<64>, tarn_lifo<64>>{}, slowest_huge_pages,
      one_manual_pass);
}

}  // namespace tarn_bench

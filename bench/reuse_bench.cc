// Question: what do a million blocks cost that are freed in random order and taken again? Blocks of 64 bytes, whose first word
// is written.
//
// The malloc of the process is a column, too: bench/processes.py runs this program once for each column, row and round.

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "tarn/bench/allocators.h"
#include "tarn/bench/compositions.h"
#include "tarn/bench/heap.h"
#include "tarn/bench/live_blocks.h"

namespace tarn_bench {
namespace {

constexpr const char* table = "reuse";

using all = columns<heap<64>, heap_huge<64>, boost_pool<64>, tarn_default<64>, tarn_default_huge<64>, tarn_lifo<64>,
                    tarn_paged<64>, tarn_paged_pages<64>, tarn_paged_huge<64>>;

/// A million blocks are taken from a new pool and freed in random order, twice. The first round finds no memory, the second
/// what the first freed. Orders are made between the clocks.
struct rounds {
  double first = 0;
  double free = 0;  // of both rounds
  double take = 0;  // the second round's
};
template <class Column>
rounds two_rounds(std::vector<void*>& live) {
  reordering reorder{live.size()};
  start_cold();
  rounds times;
  alignas(64) Column column;
  for (double* const taking : {&times.first, &times.take}) {
    stopwatch takes{*taking};
    fill(column, live);
    takes.stop();
    reorder(live);
    stopwatch frees{times.free};
    empty(column, live);
    frees.stop();
  }
  return times;
}

/// The whole of it: an allocation and a free, the mean of both rounds. The second round's allocations are a row of their own.
constexpr auto cycle = []<class Column>(benchmark::State& state) {
  std::vector<void*> live(scaled(1'000'000));
  rounds times;
  for (auto _ : state) times = two_rounds<Column>(live);
  state.counters["s_per_op"] = (times.first + times.free + times.take) / static_cast<double>(2 * live.size());
  report_phase(state, "first", times.first, live.size());
  report_phase(state, "free", times.free, 2 * live.size());
  report_phase(state, "take", times.take, live.size());
};
/// A lap of churn takes a millisecond: a process does some, and keeps the median.
constexpr auto churned_often = []<class Column>(benchmark::State& state) {
  const std::size_t bursts = scaled(3'000);
  std::array<double, 25> laps{};
  with_live_blocks<Column>(state, [&](auto& column, auto& live, auto& random) {
    for (double& lap : laps) {
      stopwatch time{lap};
      churn(column, live, random, bursts);
      time.stop();
    }
  });
  std::sort(laps.begin(), laps.end());
  state.counters["s_per_op"] = laps[laps.size() / 2] / static_cast<double>(bursts * 64);
};

}  // namespace

void register_benchmarks() {
  fix_heap_thresholds();
  add(table, "cycle", all{}, cycle, one_pass);
  add(table, "churn", all{}, churned_often, one_pass);
}

}  // namespace tarn_bench

// Question: what does the way free blocks are kept cost, in the orders in which programs free?
// All blocks have 64 bytes, except in churn_256. A row's figure is the time for one allocation and one free.

#include <algorithm>

#include "tarn/bench/allocators.h"
#include "tarn/bench/compositions.h"
#include "tarn/bench/live_blocks.h"
#include "tarn/bench/loops.h"

namespace tarn_bench {
namespace {

constexpr const char* table = "free_list";

template <std::size_t Bytes>
using warm = columns<new_delete<Bytes>, boost_pool<Bytes>, pmr_unsync<Bytes>, list<Bytes>, front<Bytes>, tarn_default<Bytes>,
                     tarn_lifo<Bytes>>;

using million = warm<64>;
// And the same designs over huge pages.
using million_huge = columns<front_huge<64>, tarn_default_huge<64>>;

constexpr auto replacing = []<class Column>(benchmark::State& state) {
  const std::size_t count = scaled(200'000);
  with_live_blocks<Column>(state, [=](auto& column, auto& live, auto& random) { replace(column, live, random, count); });
  report(state, count);
};

/// A million blocks: allocated, then freed in some order and taken again. Filling and reordering are not timed.
template <class Column, class Reorder>
void with_million(benchmark::State& state, Reorder reorder) {
  start_cold();
  alignas(64) Column column;
  std::vector<void*> live(scaled(1'000'000));
  fill(column, live);
  double freeing = 0;
  double taking = 0;
  for (auto _ : state) {
    reorder(live);
    const double before = freeing + taking;
    stopwatch frees{freeing};
    empty(column, live);
    frees.stop();
    stopwatch takes{taking};
    fill(column, live);
    takes.stop();
    state.SetIterationTime(freeing + taking - before);
  }
  empty(column, live);
  report(state, live.size());
  report_phase(state, "free", freeing, live.size());
  report_phase(state, "take", taking, live.size());
}
constexpr auto lifo = []<class Column>(benchmark::State& state) {
  with_million<Column>(state, [](auto& live) { std::reverse(live.begin(), live.end()); });
};
constexpr auto fifo = []<class Column>(benchmark::State& state) { with_million<Column>(state, [](auto&) {}); };
constexpr auto random_order = []<class Column>(benchmark::State& state) {
  with_million<Column>(state, reordering{scaled(1'000'000)});
};

/// The first blocks that a pool hands out: page faults, chunks, carving. Making and destroying the pool are not timed.
constexpr auto first_fill = []<class Column>(benchmark::State& state) {
  std::vector<void*> live(scaled(1'000'000));
  for (auto _ : state) {
    start_cold();
    alignas(64) Column column;
    double filling = 0;
    stopwatch fills{filling};
    fill(column, live);
    fills.stop();
    state.SetIterationTime(filling);
    empty(column, live);
  }
  report(state, live.size());
};

}  // namespace

void register_benchmarks() {
  fix_heap_thresholds();
  add(table, "pair", warm<64>{}, pair);
  add(table, "hundred", warm<64>{}, hundred);
  add(table, "churn", warm<64>{}, churned, one_pass);
  add(table, "replace", warm<64>{}, replacing, one_pass);
  add(table, "churn_256", warm<256>{}, churned, one_pass);
  add(table, "first_fill", million{}, first_fill, one_manual_pass);
  add(table, "first_fill", million_huge{}, first_fill, one_manual_pass);
  add(table, "lifo", million{}, lifo, one_manual_pass);
  add(table, "fifo", million{}, fifo, one_manual_pass);
  add(table, "random", million{}, random_order, one_manual_pass);
  add(table, "random", million_huge{}, random_order, one_manual_pass);
}

}  // namespace tarn_bench

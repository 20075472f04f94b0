// Question: what does it cost to give empty chunks back, against keeping them? Blocks of 64 bytes.

#include <cstddef>
#include <span>
#include <vector>

#include "tarn/bench/allocators.h"
#include "tarn/bench/compositions.h"
#include "tarn/bench/live_blocks.h"
#include "tarn/bench/loops.h"

namespace tarn_bench {
namespace {

constexpr const char* table = "retention";

using all = columns<new_delete<64>, tarn_default<64>, tarn_paged<64>, tarn_returning<64>,
                    tarn_page_returning<64>,
                    tarn_returning_pages<64>>;

/// The same after a peak of which a hundred blocks, anywhere, are still live: chunks that can't go back, and are nearly free.
template <class Body>
constexpr auto after_peak(Body body) {
  return [body]<class Column>(benchmark::State& state) {
    std::vector<void*> live(scaled(1'000'000));
    reordering reorder{live.size()};
    alignas(64) Column column;
    fill(column, live);
    reorder(live);
    const std::span<void*> blocks{live};
    empty(column, blocks.subspan(100));
    body(column, state);
    empty(column, blocks.first(100));
  };
}
constexpr auto pair_again = after_peak([](auto& column, benchmark::State& state) {
  const std::size_t count = scaled(1'000'000);
  for (auto _ : state) pairs(column, count);
  report(state, count);
});
constexpr auto hundred_again = after_peak([](auto& column, benchmark::State& state) {
  const std::size_t count = scaled(5'000);
  for (auto _ : state) hundreds(column, count);
  report(state, count * 100);
});

/// A peak that comes again and again: all blocks are taken and freed in random order, so that chunks become empty and go back,
/// and are asked for again. Orders are made between the clocks.
constexpr auto tide = []<class Column>(benchmark::State& state) {
  std::vector<void*> live(scaled(1'000'000));
  reordering reorder{live.size()};
  start_cold();
  alignas(64) Column column;
  fill(column, live);
  reorder(live);
  empty(column, live);
  double seconds = 0;
  for (auto _ : state) {
    const double before = seconds;
    stopwatch takes{seconds};
    fill(column, live);
    takes.stop();
    reorder(live);
    stopwatch frees{seconds};
    empty(column, live);
    frees.stop();
    state.SetIterationTime(seconds - before);
  }
  report(state, live.size());
};

}  // namespace

void register_benchmarks() {
  fix_heap_thresholds();
  add(table, "pair", all{}, pair);
  add(table, "hundred", all{}, hundred);
  add(table, "idle_pair", all{}, pair_again, one_pass);
  add(table, "idle_hundred", all{}, hundred_again, one_pass);
  add(table, "churn", all{}, churned, one_pass);
  add(table, "tide", all{}, tide, one_manual_pass);
}

}  // namespace tarn_bench

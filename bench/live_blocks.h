// What several programs do: small loops, and work among many live blocks.
#ifndef TARN_BENCH_LIVE_BLOCKS_H_
#define TARN_BENCH_LIVE_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tarn/bench/loops.h"
#include "tarn/bench/measure.h"

namespace tarn_bench {

/// Small loops: the pool is warm and holds little.
inline constexpr auto pair = []<class Column>(benchmark::State& state) {
  constexpr std::size_t count = 4096;
  alignas(64) Column column;
  for (auto _ : state) pairs(column, count);
  report(state, count);
};
inline constexpr auto hundred = []<class Column>(benchmark::State& state) {
  constexpr std::size_t count = 40;
  alignas(64) Column column;
  for (auto _ : state) hundreds(column, count);
  report(state, count * 100);
};

/// A hundred thousand blocks stay live. The work is fixed, so that the blocks are made only once for each repetition.
template <class Column, class Body>
void with_live_blocks(benchmark::State& state, Body body) {
  start_cold();
  alignas(64) Column column;
  std::vector<void*> live(scaled(100'000));
  random_source random{7};
  fill(column, live);
  churn(column, live, random, scaled(4'000));  // until the free blocks are as mixed as they get
  for (auto _ : state) body(column, live, random);
  empty(column, live);
}

/// Bursts of 64 random frees and 64 allocations.
inline constexpr auto churned = []<class Column>(benchmark::State& state) {
  const std::size_t bursts = scaled(3'000);
  with_live_blocks<Column>(state, [=](auto& column, auto& live, auto& random) { churn(column, live, random, bursts); });
  report(state, bursts * 64);
};

/// Brings the blocks into a random order: always the same for so many.
class reordering {
 public:
  explicit reordering(std::size_t count) : order_(shuffled(count)), before_(count) {}
  void operator()(std::vector<void*>& live) {
    before_ = live;
    for (std::size_t i = 0; i < live.size(); ++i) live[i] = before_[order_[i]];
  }

 private:
  std::vector<std::uint32_t> order_;
  std::vector<void*> before_;
};

}  // namespace tarn_bench

#endif  // TARN_BENCH_LIVE_BLOCKS_H_

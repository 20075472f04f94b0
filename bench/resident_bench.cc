// Question: how much of a peak's memory is still there when all blocks were freed, oldest first or in random order? A gigabyte
// of 64-byte blocks.
//
// Each column runs in a process of its own, the malloc of which is a column, too: bench/processes.py.

#include <algorithm>
#include <cstddef>

#include "tarn/bench/held_memory.h"

namespace tarn_bench {
namespace {

constexpr const char* table = "resident";

template <bool Shuffled>
struct emptied {
  template <class Column>
  void operator()(benchmark::State& state) const {
    const std::size_t megabytes = quick ? 512 : 1024;
    const places live{scaled(megabytes * (std::size_t{1} << 20) / 64)};
    random_source random{7 + seed};
    std::size_t peak = 1;
    std::size_t left = 0;
    for (auto _ : state) {
      const held_since start;
      alignas(64) Column column;
      fill(column, live.all());
      peak = start.bytes();
      if constexpr (Shuffled) shuffle(live.all(), random);
      empty(column, live.all());
      settle(column);
      left = start.bytes();
    }
    state.counters["left"] = static_cast<double>(left) / static_cast<double>(std::max<std::size_t>(peak, 1));
    state.counters["peak"] = static_cast<double>(peak);
    state.counters["bytes"] = static_cast<double>(left);
  }
};

}  // namespace

void register_benchmarks() {
  add(
      table, "in_order", holders{}, []<class Column>(benchmark::State& state) { emptied<false>{}.operator()<Column>(state); },
      one_pass);
  add(
      table, "random", holders{}, []<class Column>(benchmark::State& state) { emptied<true>{}.operator()<Column>(state); },
      one_pass);
}

}  // namespace tarn_bench

// Question: how much memory does a column hold for each live byte when nine of ten blocks were freed at random, and when the
// tenth part has lived on with churn? 128 MB of 64-byte blocks at the peak.
//
// Each column runs in a process of its own, the malloc of which is a column, too: bench/processes.py.

#include <cstddef>
#include <span>

#include "tarn/bench/held_memory.h"

namespace tarn_bench {
namespace {

constexpr const char* table = "fragmentation";

/// Bytes held for each byte live after so many rounds. In a round a random part of the live blocks is freed, then as many are
/// allocated.
template <int Rounds, std::size_t Part>
struct thinned {
  template <class Column>
  void operator()(benchmark::State& state) const {
    const std::size_t megabytes = quick ? 64 : 128;
    const places blocks{scaled(megabytes * (std::size_t{1} << 20) / 64)};
    const std::span<void*> live = blocks.all().first(blocks.all().size() / 10);
    const std::span<void*> part = live.first(live.size() / Part);
    random_source random{7 + seed};
    std::size_t held = 0;
    for (auto _ : state) {
      const held_since start;
      alignas(64) Column column;
      fill(column, blocks.all());
      shuffle(blocks.all(), random);
      empty(column, blocks.all().subspan(live.size()));
      for (int i = 0; i < Rounds; ++i) {
        shuffle(live, random);
        empty(column, part);
        fill(column, part);
      }
      settle(column);
      held = start.bytes();
      empty(column, live);
    }
    state.counters["held"] = static_cast<double>(held) / static_cast<double>(live.size() * 64);
    state.counters["bytes"] = static_cast<double>(held);
  }
};

}  // namespace

void register_benchmarks() {
  const auto row = []<class Work>(const char* name, Work) {
    add(
        table, name, holders{}, []<class Column>(benchmark::State& state) { Work{}.template operator()<Column>(state); },
        one_pass);
  };
  row("thinned", thinned<0, 10>{});
  row("tenths", thinned<10, 10>{});
  row("halves", thinned<10, 2>{});
}

}  // namespace tarn_bench

// Question ("Static memory pool"): what does an allocation and a free cost without a lock, with one, and in a group whose
// pools share one? And is a pool that is a static object as fast as one behind a pointer? Blocks of 64 bytes.

#include "tarn/bench/allocators.h"
#include "tarn/bench/compositions.h"
#include "tarn/bench/loops.h"

namespace tarn_bench {
namespace {

constexpr const char* table = "static_pool";

using unlocked = columns<new_delete<64>, boost_pool<64>, pmr_unsync<64>, list<64>, front<64>, tarn_default<64>, tarn_lifo<64>,
                         tarn_grouped<64>, tarn_static<64>, tarn_static_lifo<64>>;
using locked = columns<new_delete<64>, boost_singleton<64>, pmr_sync<64>, list_locked<64>, tarn_mutex<64>,
                       tarn_grouped_mutex<64>, tarn_static_mutex<64>>;

constexpr std::size_t count = 4000;

constexpr auto pair = []<class Column>(benchmark::State& state) {
  alignas(64) Column column;
  for (auto _ : state) pairs(column, count);
  report(state, count);
};
constexpr auto hundred = []<class Column>(benchmark::State& state) {
  alignas(64) Column column;
  for (auto _ : state) hundreds(column, count / 100);
  report(state, count);
};
/// Two threads at one pool. The figure is wall time for one pair, of either thread: perfect scaling would halve it.
constexpr auto shared_pair = []<class Column>(benchmark::State& state) {
  alignas(64) static Column column;
  for (auto _ : state) pairs(column, count);
  report(state, count);
};

}  // namespace

void register_benchmarks() {
  add(table, "pair", unlocked{}, pair);
  add(table, "hundred", unlocked{}, hundred);
  add(table, "locked_pair", locked{}, pair);
  add(table, "locked_hundred", locked{}, hundred);
  add(table, "two_threads", locked{}, shared_pair, [](auto* benchmark) { benchmark->Threads(2)->UseRealTime(); });
}

}  // namespace tarn_bench

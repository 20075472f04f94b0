// Question ("The physical reality of new and delete"): a thousand ints on the stack, in one vector, and one allocation each,
// on one thread and split over four that std::async starts, as there. `no_allocation` starts the four threads for nothing.

#include <array>
#include <functional>
#include <future>

#include "tarn/bench/allocators.h"
#include "tarn/bench/compositions.h"
#include "tarn/bench/loops.h"

namespace tarn_bench {
namespace {

constexpr const char* table = "physical_reality";
constexpr std::size_t ints = 1000;

/// One allocation and one free, as for the ints of that text: `new int`, use, `delete`.
template <class Column>
TARN_BENCH_LOOP void int_pairs(Column& column, std::size_t count) {
  for (; count != 0; --count) {
    int* const one = static_cast<int*>(column.take());
    *one = static_cast<int>(count);
    keep(one);
    column.give(one);
    benchmark::ClobberMemory();
  }
}

struct stack_array {
  static constexpr const char* name = "stack";
};
struct one_vector {
  static constexpr const char* name = "vector";
};
struct no_allocation {
  static constexpr const char* name = "no_allocation";
  void* take() { return &dummy_; }
  void give(void*) {}

 private:
  int dummy_ = 0;
};

/// A pool for each thread, made and destroyed by it: nothing is shared, so nothing is locked.
template <class Column>
struct own {};
struct own_list : own<list<8>> {
  static constexpr const char* name = "bare_list_own";
};
struct own_tarn : own<tarn_default<4>> {
  static constexpr const char* name = "tarn_own";
};

constexpr auto on_stack = []<class>(benchmark::State& state) {
  for (auto _ : state) {
    std::array<int, ints> data;
    keep(&data);
  }
  report(state, 1);
};
constexpr auto in_vector = []<class>(benchmark::State& state) {
  for (auto _ : state) {
    std::vector<int> data(ints);
    keep(data.data());
  }
  report(state, 1);
};
constexpr auto one_thread = []<class Column>(benchmark::State& state) {
  alignas(64) Column column;
  for (auto _ : state) int_pairs(column, ints);
  report(state, 1);
};

template <class Work>
void in_four_threads(benchmark::State& state, Work work) {
  for (auto _ : state) {
    std::array<std::future<void>, 4> tasks;
    for (std::future<void>& task : tasks) task = std::async(std::launch::async, work);
    for (std::future<void>& task : tasks) task.wait();
  }
  report(state, 1);
}
constexpr auto four_threads = []<class Column>(benchmark::State& state) {
  alignas(64) Column column;
  in_four_threads(state, [&column] { int_pairs(column, ints / 4); });
};
template <class Column>
void four_owners(benchmark::State& state, own<Column>*) {
  in_four_threads(state, [] {
    alignas(64) Column column;
    int_pairs(column, ints / 4);
  });
}
constexpr auto four_owning_threads = []<class Own>(benchmark::State& state) { four_owners(state, static_cast<Own*>(nullptr)); };

}  // namespace

void register_benchmarks() {
  add(table, "one_thread", columns<stack_array>{}, on_stack);
  add(table, "one_thread", columns<one_vector>{}, in_vector);
  add(table, "one_thread",
      columns<new_delete<4>, boost_pool<4>, pmr_unsync<4>, list<8>, tarn_default<4>, tarn_static<4>, tarn_mutex<4>>{},
      one_thread);

  const auto wall_time = [](auto* benchmark) { benchmark->MeasureProcessCPUTime()->UseRealTime(); };
  add(table, "four_threads",
      columns<no_allocation, new_delete<4>, boost_singleton<4>, pmr_sync<4>, list_locked<8>, tarn_mutex<4>,
              tarn_static_mutex<4>>{},
      four_threads, wall_time);
  add(table, "four_threads", columns<own_list, own_tarn>{}, four_owning_threads, wall_time);
}

}  // namespace tarn_bench

// What every benchmark of this folder shares: clocks, the result's unit, positions, and how a benchmark gets its name.
#ifndef TARN_BENCH_MEASURE_H_
#define TARN_BENCH_MEASURE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <malloc.h>
#include <ctime>

#include <benchmark/benchmark.h>

namespace tarn_bench {

/// Set by `--smoke`: every benchmark does a hundredth of its work, to show that it runs. Figures mean nothing then.
inline bool smoke = false;
/// Set by `--quick`: less memory, where memory is what is measured.
inline bool quick = false;
/// Set by `--seed=N`: where chance decides the figure, each round of bench/processes.py brings another.
inline std::uint64_t seed = 0;

inline std::size_t scaled(std::size_t count) { return smoke ? count / 100 : count; }

/// benchmark::DoNotOptimize and ClobberMemory in one, always through a register: where the library lets the compiler
/// choose memory, a loop of half a nanosecond pays a store and a load for it.
inline void keep(void* block) { asm volatile("" : : "r"(block) : "memory"); }

/// Seconds of CPU time of this thread: immune to whoever else uses the machine.
inline double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Adds the CPU time between its making and stop() to `sum`.
class stopwatch {
 public:
  explicit stopwatch(double& sum) : sum_(sum) {
    benchmark::ClobberMemory();
    start_ = cpu_seconds();
  }
  void stop() {
    benchmark::ClobberMemory();
    sum_ += cpu_seconds() - start_;
  }

 private:
  double& sum_;
  double start_;
};

/// The one figure that the report reads: seconds for one operation, of which an iteration does `operations`.
inline void report(benchmark::State& state, std::size_t operations) {
  using benchmark::Counter;
  state.counters["s_per_op"] =
      Counter(static_cast<double>(operations),
              static_cast<Counter::Flags>(Counter::kIsIterationInvariantRate | Counter::kAvgThreads | Counter::kInvert));
}

/// A phase of the iteration, as a figure of its own: `seconds` is the sum over all iterations.
inline void report_phase(benchmark::State& state, const char* phase, double seconds, std::size_t operations) {
  state.counters[phase] = seconds / static_cast<double>(operations) / static_cast<double>(state.iterations());
}

/// Cheap pseudo-random numbers: one multiplication, the upper half of a 64-bit state.
class random_source {
 public:
  explicit random_source(std::uint64_t start) : state_(start) {}
  std::uint64_t below(std::uint64_t bound) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return (state_ >> 32) * bound >> 32;
  }

 private:
  std::uint64_t state_;
};

/// 0 .. count-1 in a random order, the same in every run.
inline std::vector<std::uint32_t> shuffled(std::size_t count) {
  random_source random{42};
  std::vector<std::uint32_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(i);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

/// From here on glibc maps every chunk from 128 KiB upwards and gives it back when it is freed. By default it raises
/// that limit with each free, so that a later variant would find the pages of an earlier one and never see a first fill.
inline void fix_heap_thresholds() {
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  mallopt(M_TRIM_THRESHOLD, 128 << 10);
}

/// Gives the free pages of the heap back to the system, so that no variant starts with another's pages.
inline void start_cold() { malloc_trim(0); }

/// A list of the variants ("columns") of a row.
template <class... Columns>
struct columns {};
template <class... Some, class... More>
columns<Some..., More...> operator+(columns<Some...>, columns<More...>) {
  return {};
}

/// Registers one benchmark for each column, named "table/row/column". The body is a lambda `[]<class Column>(State&)`.
template <class... Columns, class Body, class Configure>
void add(const std::string& table, const std::string& row, columns<Columns...>, Body body, Configure configure) {
  (configure(benchmark::RegisterBenchmark((table + "/" + row + "/" + Columns::name).c_str(),
                                          [body](benchmark::State& state) { body.template operator()<Columns>(state); })),
   ...);
}
template <class List, class Body>
void add(const std::string& table, const std::string& row, List list, Body body) {
  add(table, row, list, body, [](auto*) {});
}

/// Once for each repetition: what is done is so much that one time is enough, or clocks by itself.
inline constexpr auto one_pass = [](auto* benchmark) { benchmark->Iterations(1); };
inline constexpr auto one_manual_pass = [](auto* benchmark) { benchmark->UseManualTime()->Iterations(1); };

/// Defined once by each program: registers its benchmarks.
void register_benchmarks();

}  // namespace tarn_bench

#endif  // TARN_BENCH_MEASURE_H_

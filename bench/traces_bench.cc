// Question: what do the calls of real programs cost, which ask for many sizes and keep some blocks long, and how much memory do
// they then have? bench/traces.py has recorded some; they are replayed here, on one thread.
//
// The logs are the files NAME.log in the folder $TARN_BENCH_TRACES, and the rows. A process runs a log twice and the second run
// counts. The malloc of the process is a column, too: bench/processes.py.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tarn/bench/held_memory.h"
#include "tarn/bench/sized_columns.h"
#include "tarn/bench/trace.h"

namespace tarn_bench {
namespace {

/// Reads a log in another process: the heap of this one stays as it was. Null, and a complaint, if it can't.
const trace* read_trace(const std::string& path) {
  std::error_code missing;
  const std::uintmax_t log_bytes = std::filesystem::file_size(path, missing);
  // A call has three bytes at least, and two steps at most.
  const std::size_t bytes = sizeof(trace) + (missing ? 0 : static_cast<std::size_t>(log_bytes)) * sizeof(step);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const found = static_cast<trace*>(memory);
  const pid_t reader = ::fork();
  if (reader == 0) {
    tarn_record::log log;
    const bool is_log = log.open(path.c_str());
    trace_converter steps{reinterpret_cast<step*>(found + 1)};
    for (tarn_record::call call; is_log && log.next(call);) steps.add(call);
    *found = steps.result();
    for (const std::string& note : log.notes()) std::fprintf(stderr, "%s: %s\n", path.c_str(), note.c_str());
    ::_exit(is_log && !log.is_damaged() ? 0 : 1);
  }
  int status = 1;
  if (reader < 0 || ::waitpid(reader, &status, 0) != reader || status != 0 || found->begin == found->end) return nullptr;
  // Read once, so that it counts as this process's before anything is measured.
  const volatile char* at = static_cast<const char*>(memory);
  for (; at < reinterpret_cast<const char*>(found->all_end); at += 4096) static_cast<void>(*at);
  return found;
}

template <class Column>
void measure(benchmark::State& state, const std::string& path) {
  const trace* const steps = read_trace(path);
  if (steps == nullptr) return state.SkipWithError((path + " is no log that can be replayed").c_str());
  const places blocks{steps->places};
  void** const all = blocks.all().data();
  std::size_t lost = 0, held = 0;
  double seconds = 0;
  for (auto _ : state) {
    const held_since start;
    alignas(64) Column column;
    lost += replay(column, steps->begin, steps->all_end, all);
    stopwatch growing{seconds};
    lost += replay(column, steps->begin, steps->fullest, all);
    growing.stop();
    held = start.bytes();
    stopwatch rest{seconds};
    lost += replay(column, steps->fullest, steps->end, all);
    rest.stop();
    lost += replay(column, steps->end, steps->all_end, all);
    state.SetIterationTime(seconds);
  }
  report(state, static_cast<std::size_t>(steps->end - steps->begin));
  state.counters["resident"] = static_cast<double>(held);
  if (lost != 0) state.SkipWithError("blocks lost what was written to them");
}

using columns_here =
    columns<heap_of_sizes, std_unsync, std_sync, tarn_classes, tarn_classes_cached, tarn_unsync, tarn_sync, tarn_xmalloc>;

}  // namespace

void register_benchmarks() {
  const char* const folder = std::getenv("TARN_BENCH_TRACES");
  if (folder == nullptr) return;
  std::vector<std::filesystem::path> logs;
  for (const auto& each : std::filesystem::directory_iterator{folder}) {
    if (each.path().extension() == ".log") logs.push_back(each.path());
  }
  std::sort(logs.begin(), logs.end());
  for (const std::filesystem::path& log : logs) {
    add(
        "traces", log.stem().string(), columns_here{},
        [path = log.string()]<class Column>(benchmark::State& state) { measure<Column>(state, path); }, one_manual_pass);
  }
}

}  // namespace tarn_bench

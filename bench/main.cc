// The main function of every benchmark program: Google Benchmark's, and the flag --smoke.

#include <algorithm>
#include <string_view>
#include <thread>

#include "tarn/bench/measure.h"

int main(int argc, char** argv) {
  char** const end = std::remove_if(argv + 1, argv + argc, [](const char* argument) {
    const bool ours = std::string_view{argument} == "--smoke";
    tarn_bench::smoke = tarn_bench::smoke || ours;
    return ours;
  });
  argc = static_cast<int>(end - argv);
  argv[argc] = nullptr;

  // glibc turns mutexes into plain stores until a process has had a second thread. Programs that lock have had one.
  std::thread{[] {}}.join();

  tarn_bench::register_benchmarks();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}

// The main function of every benchmark program: Google Benchmark's, and the flags --smoke, --quick and --seed=N.

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "tarn/bench/measure.h"

namespace {

bool take_flag(std::string_view argument) {
  constexpr std::string_view seed = "--seed=";
  if (argument == "--smoke") tarn_bench::smoke = true;
  else if (argument == "--quick") tarn_bench::quick = true;
  else if (argument.starts_with(seed)) tarn_bench::seed = std::strtoull(argument.data() + seed.size(), nullptr, 10);
  else return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  char** const end = std::remove_if(argv + 1, argv + argc, take_flag);
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

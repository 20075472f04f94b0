// All targets in one program: they share what takes long to compile. TARN_FUZZ_TARGET names the one that libFuzzer runs.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#define LLVMFuzzerTestOneInput containers_input
#include "tarn/test/fuzz/containers.cc"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput faults_input
#include "tarn/test/fuzz/faults.cc"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput operations_input
#include "tarn/test/fuzz/operations.cc"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput pools_input
#include "tarn/test/fuzz/pools.cc"
#undef LLVMFuzzerTestOneInput

namespace {

using target = int(const std::uint8_t*, std::size_t);

target* find(const char* name) {
  if (std::strcmp(name, "containers") == 0) return containers_input;
  if (std::strcmp(name, "faults") == 0) return faults_input;
  if (std::strcmp(name, "operations") == 0) return operations_input;
  if (std::strcmp(name, "pools") == 0) return pools_input;
  return nullptr;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static target* const run = find(std::getenv("TARN_FUZZ_TARGET"));
  return run(data, size);
}

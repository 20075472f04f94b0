// All targets in one program: they share what takes long to compile. `replay TARGET FILES...` runs inputs through one, without
// libFuzzer, so that any compiler will do. With TARN_LIBFUZZER it is libFuzzer's, for the target that TARN_FUZZ_TARGET names.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <ios>
#include <iterator>
#include <vector>

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

#if defined(TARN_LIBFUZZER)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static target* const run = find(std::getenv("TARN_FUZZ_TARGET"));
  return run(data, size);
}

#else

int main(int words, char** word) {
  target* const run = words > 1 ? find(word[1]) : nullptr;
  if (run == nullptr) {
    std::fprintf(stderr, "usage: replay containers|faults|operations|pools FILES...\n");
    return 2;
  }
  for (int i = 2; i != words; ++i) {
    std::ifstream file(word[i], std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    if (!file) {
      std::fprintf(stderr, "%s can't be read\n", word[i]);
      return 2;
    }
    // Before it runs: the last one named is the one that a report is about.
    std::fprintf(stderr, "%s, %zu bytes\n", word[i], bytes.size());
    // An array of its own, without room at the end: a target that reads too far is found out.
    run(std::vector<std::uint8_t>(bytes.begin(), bytes.end()).data(), bytes.size());
  }
  std::fprintf(stderr, "%d inputs\n", words - 2);
  return 0;
}

#endif

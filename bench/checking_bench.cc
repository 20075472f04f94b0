// Question: what do the checking policies cost, and for which kind of pool? Blocks of 64 bytes.

#include "tarn/bench/allocators.h"
#include "tarn/bench/compositions.h"
#include "tarn/bench/live_blocks.h"

namespace tarn_bench {
namespace {

constexpr const char* table = "checking";

using array = columns<new_delete<64>, tarn_array<64>, tarn_array_hardened<64>, tarn_array_checked<64>>;
using chunks = columns<new_delete<64>, tarn_default<64>, tarn_hardened<64>, tarn_checked<64>, tarn_paged<64>, tarn_deferred<64>,
                       tarn_sampled<64>>;

}  // namespace

void register_benchmarks() {
  fix_heap_thresholds();
  add(table, "pair_array", array{}, pair);
  add(table, "hundred_array", array{}, hundred);
  add(table, "pair", chunks{}, pair);
  add(table, "hundred", chunks{}, hundred);
  add(table, "churn", chunks{}, churned, one_pass);
}

}  // namespace tarn_bench

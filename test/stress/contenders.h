// Every way to share a pool between threads: the workloads are compiled once for all of them.
#ifndef TARN_TEST_STRESS_CONTENDERS_H_
#define TARN_TEST_STRESS_CONTENDERS_H_

#include <cstddef>
#include <memory>
#include <span>

#include "tarn/test/support/any_pool.h"

namespace tarn::test {

inline constexpr std::size_t block_bytes = 64, chunk_blocks = 64;

struct contender {
  const char* name;
  std::unique_ptr<any_pool> (*make)();  // a new pool over a ledger_store; a static pool is always the same
  bool is_static = false;
  bool trims = true;
  std::size_t magazine = 0;  // the most blocks that a magazine of a thread holds

  bool caches() const { return magazine != 0; }
};

/// The list. A new locking policy gets one line in contenders.cc.
std::span<const contender> contenders();

}  // namespace tarn::test

#endif  // TARN_TEST_STRESS_CONTENDERS_H_

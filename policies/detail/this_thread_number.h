// A number for each thread of the process.
#ifndef TARN_POLICIES_DETAIL_THIS_THREAD_NUMBER_H_
#define TARN_POLICIES_DETAIL_THIS_THREAD_NUMBER_H_

#include <cstdint>

#include "tarn/policies/platform/atomic_word.h"

namespace tarn::detail {

/// A number that no other thread ever has: 1, 2, ... in the order in which threads ask.
inline std::uint64_t this_thread_number() noexcept {
  static constinit atomic_word<std::uint64_t> last = 0;
  static constinit thread_local std::uint64_t mine = 0;
  if (mine == 0) [[unlikely]] mine = last.fetch_add(1, memory_order_relaxed) + 1;
  return mine;
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_THIS_THREAD_NUMBER_H_

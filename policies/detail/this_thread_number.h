// A number for each thread of the process.
#ifndef TARN_POLICIES_DETAIL_THIS_THREAD_NUMBER_H_
#define TARN_POLICIES_DETAIL_THIS_THREAD_NUMBER_H_

#include <cstdint>

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"

namespace tarn::detail {

/// Whoever numbers the threads of the process.
struct thread_numbering {
  std::uint64_t& (*const of_thread)() noexcept;  // where the calling thread has its number; 0: it has none yet
  atomic_word<std::uint64_t> last = 0;

  TARN_COLD std::uint64_t ask() noexcept {
    std::uint64_t& number = of_thread();
    if (number == 0) number = last.fetch_add(1, memory_order_relaxed) + 1;
    return number;
  }
};
TARN_ONE_IN_LIBRARY inline std::uint64_t& number_of_thread() noexcept {
  static constinit thread_local std::uint64_t number = 0;
  return number;
}
TARN_FOUND_IN_PROCESS inline constinit thread_numbering library_numbering{number_of_thread};

/// A number that no other thread of the process ever has: 1, 2, ... in the order in which threads ask.
TARN_STEP std::uint64_t this_thread_number() noexcept {
  static constinit thread_local std::uint64_t known = 0;
  if (known == 0) [[unlikely]] known = one_in_process<library_numbering, 0x101>::get().ask();
  return known;
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_THIS_THREAD_NUMBER_H_

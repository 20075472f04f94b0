// A number for each thread of the process.
#ifndef TARN_POLICIES_DETAIL_THIS_THREAD_NUMBER_H_
#define TARN_POLICIES_DETAIL_THIS_THREAD_NUMBER_H_

#include <cstdint>
#include <type_traits>

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"
#include "tarn/policies/platform/system.h"

namespace tarn::detail {

/// 64 bits where the processor can count in them at once.
using thread_number = std::conditional_t<platform::has_wide_atomics, std::uint64_t, std::uintptr_t>;

/// Whoever numbers the threads of the process.
struct thread_numbering {
  thread_number& (*const of_thread)() noexcept;  // where the calling thread has its number; 0: it has none yet
  atomic_word<thread_number> last = 0;

  TARN_COLD thread_number ask() noexcept {
    thread_number& number = of_thread();
    if (number == 0) number = last.fetch_add(1, memory_order_relaxed) + 1;
    return number;
  }
};
TARN_ONE_IN_LIBRARY inline thread_number& number_of_thread() noexcept {
  static constinit TARN_THREAD_LOCAL thread_number number = 0;
  return number;
}
TARN_FOUND_IN_PROCESS inline constinit thread_numbering library_numbering{number_of_thread};

/// A number that no other thread of the process ever has: 1, 2, ... in the order in which threads ask. Where a thread has no
/// variables of its own, the system's number for it, which a later thread may have again.
TARN_STEP thread_number this_thread_number() noexcept {
  if constexpr (platform::system::has_thread_locals) {
    static constinit TARN_THREAD_LOCAL thread_number known = 0;
    if (known == 0) [[unlikely]] known = one_in_process<library_numbering, 0x101>::get().ask();
    return known;
  } else {
    return platform::system::this_thread();
  }
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_THIS_THREAD_NUMBER_H_

// A constant-initialised counting semaphore: std::counting_semaphore isn't that everywhere, and includes <chrono> and
// <thread>.
#ifndef TARN_POLICIES_EXHAUSTION_DETAIL_SEMAPHORE_H_
#define TARN_POLICIES_EXHAUSTION_DETAIL_SEMAPHORE_H_

#include <cstdint>

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn::detail {

class semaphore {
 public:
  /// Lets one thread continue: what this one did happens before what that one does.
  void release() noexcept {
    count_.fetch_add(1, memory_order_release);
    wake_one(count_.address());
  }
  /// Waits until it may continue. Returns false if that wasn't before the deadline, by steady_nanoseconds().
  bool try_acquire_until(std::uint64_t deadline) noexcept {
    for (;;) {
      unsigned seen = count_.load(memory_order_relaxed);
      while (seen != 0)
        if (count_.compare_exchange_weak(seen, seen - 1, memory_order_acquire, memory_order_relaxed)) return true;
      const std::uint64_t now = steady_nanoseconds();
      if (now >= deadline) return false;
      wait_while(count_.address(), 0, deadline - now);
    }
  }

 private:
  atomic_word<unsigned> count_ = 0;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_EXHAUSTION_DETAIL_SEMAPHORE_H_

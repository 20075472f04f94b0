// In place of maintenance_thread, where the standard library has no threads.
#ifndef TARN_ALLOCATOR_DETAIL_NO_MAINTENANCE_THREAD_H_
#define TARN_ALLOCATOR_DETAIL_NO_MAINTENANCE_THREAD_H_

#include "tarn/policies/platform/config.h"

namespace tarn {

class maintenance_thread {
 public:
  template <class... Period>
  explicit maintenance_thread(const Period&...) {
    static_assert(sizeof...(Period) > 1,
                  "tarn: [Y8] maintenance_thread was named, but this standard library has no std::thread to run it; call "
                  "maintain() of the pools in between, or from a thread of your own");
  }
  template <class Pool>
  [[nodiscard]] int add(Pool&) noexcept;
  void wake() noexcept;
};

}  // namespace tarn

#endif  // TARN_ALLOCATOR_DETAIL_NO_MAINTENANCE_THREAD_H_

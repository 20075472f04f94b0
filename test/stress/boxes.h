// Blocks that pass from thread to thread.
#ifndef TARN_TEST_STRESS_BOXES_H_
#define TARN_TEST_STRESS_BOXES_H_

#include <array>
#include <atomic>
#include <cstddef>

namespace tarn::test {

/// Where threads leave blocks for whoever comes by. It orders the two that pass a block, and no others.
class boxes {
 public:
  static constexpr std::size_t count = 64;

  /// Puts a block, or none, where another may lie. Returns that, or null.
  void* swap(std::size_t which, void* block) { return slots_[which % count].exchange(block, std::memory_order_acq_rel); }
  template <class Take>
  void empty(Take take) {
    for (auto& slot : slots_)
      if (void* const block = slot.exchange(nullptr)) take(block);
  }

 private:
  std::array<std::atomic<void*>, count> slots_{};
};

}  // namespace tarn::test

#endif  // TARN_TEST_STRESS_BOXES_H_

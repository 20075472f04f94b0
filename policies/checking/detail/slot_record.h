// What guarded_slots keeps for a slot: for the thread that takes and gives blocks, and for any that asks about an address.
#ifndef TARN_POLICIES_CHECKING_DETAIL_SLOT_RECORD_H_
#define TARN_POLICIES_CHECKING_DETAIL_SLOT_RECORD_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/checking/detail/slot_view.h"
#include "tarn/policies/platform/atomic_word.h"

namespace tarn::detail {

/// What find() reads is atomic.
struct slot_record {
  static constexpr std::uint32_t none = UINT32_MAX;  // no slot

  struct event_cell {
    atomic_word<std::uint64_t> sequence = 0;
    atomic_word<std::uint64_t> thread = 0;

    void set(slot_event e) noexcept {
      sequence.store(e.sequence, memory_order_relaxed);
      thread.store(e.thread, memory_order_relaxed);
    }
    slot_event get() const noexcept {
      return {sequence.load(memory_order_relaxed), thread.load(memory_order_relaxed)};
    }
  };

  atomic_word<std::byte*> block = nullptr;  // the last one; null: none yet
  atomic_word<std::size_t> bytes = 0;
  atomic_word<bool> live = false;
  std::uint32_t next = none;  // next free slot
  event_cell taken;
  event_cell given;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_CHECKING_DETAIL_SLOT_RECORD_H_

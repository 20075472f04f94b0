// What guarded_slots tells about a slot.
#ifndef TARN_POLICIES_CHECKING_DETAIL_SLOT_VIEW_H_
#define TARN_POLICIES_CHECKING_DETAIL_SLOT_VIEW_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/platform/standard.h"

namespace tarn::detail {

/// When, and by whom, as numbers that the caller chooses.
struct slot_event {
  std::uint64_t sequence = 0;
  std::uint64_t thread = 0;
};

/// What became of a block that was given back.
struct slot_verdict {
  enum class kind : unsigned char {
    done,
    damaged,      // done, but bytes beside the block had been written; the rest says which
    foreign,      // not done: no block ever lay there
    interior,     // not done: not the start of a block
    double_free,  // not done: the block is free already
  };
  kind is = kind::done;
  std::ptrdiff_t offset = 0;  // from the block's start to the damaged byte next to the block; if on both sides, the one behind
  std::size_t damaged = 0;    // bytes on that side
  std::byte value{};          // of the byte at `offset`
};

/// What is known about an address: the slot's last block, and where the address is relative to it. False if no block is near.
struct slot_view {
  enum class place : unsigned char { in_block, slack_before, slack_behind, guard_before, guard_behind };

  const std::byte* block = nullptr;
  std::size_t bytes = 0;
  bool live = false;
  place where = place::in_block;
  std::ptrdiff_t offset = 0;  // of the address, from the block's start; the first byte behind the block: `bytes`
  std::uint32_t slot = 0;
  slot_event taken;
  slot_event given;  // if not live

  explicit operator bool() const noexcept { return block != nullptr; }
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_CHECKING_DETAIL_SLOT_VIEW_H_

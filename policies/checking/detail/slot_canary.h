// The bytes beside a block on its pages: a canary from take() to give() detects writes that reach no guard.
//
//   | canary canary canary [block] c |
//   ^ start                          ^ end
#ifndef TARN_POLICIES_CHECKING_DETAIL_SLOT_CANARY_H_
#define TARN_POLICIES_CHECKING_DETAIL_SLOT_CANARY_H_

#include <cstddef>
#include <cstring>

#include "tarn/policies/checking/detail/slot_view.h"

namespace tarn::detail {

/// The pages on which a block lies. If its slot has more, those are inaccessible.
struct open_pages {
  std::byte* start;
  std::byte* end;
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(end - start); }
};

struct slot_canary {
  static constexpr int value = 0xCA;

  static void write(open_pages pages, std::byte* block, std::size_t bytes) noexcept {
    std::memset(pages.start, value, static_cast<std::size_t>(block - pages.start));
    std::memset(block + bytes, value, static_cast<std::size_t>(pages.end - (block + bytes)));
  }

  /// Looks for bytes that are no longer the canary.
  static slot_verdict look(open_pages pages, const std::byte* block, std::size_t bytes) noexcept {
    const std::byte* const behind = block + bytes;
    slot_verdict v;
    const auto look_at = [&](const std::byte* p) {
      if (*p == std::byte{value}) return;
      if (v.damaged++ != 0) return;
      v.offset = p - block;
      v.value = *p;
    };
    if (!intact(behind, pages.end))
      for (const std::byte* p = behind; p != pages.end; ++p) look_at(p);
    else if (!intact(pages.start, block))
      for (const std::byte* p = block; p != pages.start;) look_at(--p);
    if (v.damaged != 0) v.is = slot_verdict::kind::damaged;
    return v;
  }

 private:
  /// Whether all bytes are the canary: the first is, and each equals the one before it.
  static bool intact(const std::byte* from, const std::byte* to) noexcept {
    return from == to ||
           (*from == std::byte{value} && std::memcmp(from, from + 1, static_cast<std::size_t>(to - from) - 1) == 0);
  }
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_CHECKING_DETAIL_SLOT_CANARY_H_

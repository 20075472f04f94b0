// The guards of a pool that interrupts use.
#ifndef TARN_POLICIES_LOCKING_DETAIL_INTERRUPT_GUARDS_H_
#define TARN_POLICIES_LOCKING_DETAIL_INTERRUPT_GUARDS_H_

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/interrupt_mask.h"

namespace tarn::detail {

/// Growth is masked, too: a handler that finds no block while the program is at the store can't wait for it.
template <class Mask>
struct interrupt_guards {
  static constexpr bool can_try = false;
  static constexpr growth_again again = growth_again::nests;
  TARN_STEP static masked<Mask> hot() noexcept { return {}; }
  static masked<Mask> growth() noexcept { return {}; }
  static void end() noexcept {}
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_LOCKING_DETAIL_INTERRUPT_GUARDS_H_

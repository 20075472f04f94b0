// decides    interrupts are masked during every operation, and before it continues what they were is restored
// costs      three instructions, and interrupts wait for as long as an allocation or a free takes; while the pool grows, for
//            the store, too
// conflicts  wait_for_block; threads on other cores
// use when   an interrupt handler allocates or frees blocks of a pool that the program, or another handler, uses as well
#ifndef TARN_POLICIES_LOCKING_INTERRUPT_LOCKING_H_
#define TARN_POLICIES_LOCKING_INTERRUPT_LOCKING_H_

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/interrupt_mask.h"

// The guards of a pool that interrupts use.

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

namespace tarn {

/// \tparam Mask  `save_and_mask()` masks what may interrupt the program, and returns how it was; `restore()` takes that. Both
///               static, and noexcept. tarn::interrupt_mask exists on Cortex-M and RISC-V
template <class Mask = interrupt_mask>
struct interrupt_locking {
  using axis = tarn::axis::locking;
  static constexpr bool arguments_hold = detail::masks_interrupts<Mask>;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [L4] interrupt_locking was given no mask, or one without save_and_mask() and restore(), both "
                  "noexcept, and tarn knows none for this target; name a type with these two static functions");
  };
  static constexpr locking_traits traits{};
  template <class T>
  using cell = T;  // hooks run under the mask
  template <class Traits>
  using per_chunk = detail::no_column<axis>;
  template <class Traits>
  using state = detail::direct_calls<detail::interrupt_guards<Mask>>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_INTERRUPT_LOCKING_H_

// The mask of a processor's interrupts, where a program without an operating system may change it.
#ifndef TARN_POLICIES_PLATFORM_INTERRUPT_MASK_H_
#define TARN_POLICIES_PLATFORM_INTERRUPT_MASK_H_

#include <concepts>
#include <cstdint>

#include "tarn/policies/platform/config.h"

namespace tarn {

/// Masks all interrupts that can be masked: PRIMASK of a Cortex-M, mstatus.MIE of a RISC-V in machine mode. Elsewhere the type
/// isn't defined: see interrupt_locking.
struct interrupt_mask;

#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && !defined(__linux__)
struct interrupt_mask {
  using state = std::uint32_t;

  TARN_STEP static state save_and_mask() noexcept {
    state before;
    asm volatile("mrs %0, primask\n\tcpsid i" : "=r"(before) : : "memory");
    return before;
  }
  TARN_STEP static void restore(state before) noexcept { asm volatile("msr primask, %0" : : "r"(before) : "memory"); }
};
#elif defined(__riscv) && !defined(__linux__)
struct interrupt_mask {
  using state = std::uintptr_t;

  TARN_STEP static state save_and_mask() noexcept {
    state before;
    asm volatile("csrrci %0, mstatus, 8" : "=r"(before) : : "memory");
    return before;
  }
  TARN_STEP static void restore(state before) noexcept { asm volatile("csrs mstatus, %0" : : "r"(before & 8) : "memory"); }
};
#endif

namespace detail {
/// Has save_and_mask(), which returns what restore() takes.
template <class Mask>
concept masks_interrupts = requires {
  { Mask::restore(Mask::save_and_mask()) } noexcept;
};

/// While it exists, no interrupt comes. They can be nested.
template <class Mask>
class [[nodiscard]] masked {
 public:
  TARN_STEP masked() noexcept : before_(Mask::save_and_mask()) {}
  TARN_STEP ~masked() { Mask::restore(before_); }
  masked(const masked&) = delete;
  masked& operator=(const masked&) = delete;

 private:
  decltype(Mask::save_and_mask()) before_;
};
}  // namespace detail

}  // namespace tarn

#endif  // TARN_POLICIES_PLATFORM_INTERRUPT_MASK_H_

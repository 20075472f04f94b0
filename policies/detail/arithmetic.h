// Alignment arithmetic that can't overflow unnoticed.
#ifndef TARN_POLICIES_DETAIL_ARITHMETIC_H_
#define TARN_POLICIES_DETAIL_ARITHMETIC_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tarn/policies/platform/config.h"

namespace tarn::detail {

inline constexpr std::size_t size_max = static_cast<std::size_t>(-1);

/// Sizes and alignments above this can't exist in an address space. Those up to it leave room for every sum made of them.
inline constexpr std::size_t size_limit = size_max / 8;

// Those of <algorithm> would cost every file with a pool 20,000 lines, and debug builds a function call each.
TARN_STEP constexpr std::size_t smaller(std::size_t a, std::size_t b) noexcept { return b < a ? b : a; }
TARN_STEP constexpr std::size_t larger(std::size_t a, std::size_t b) noexcept { return a < b ? b : a; }
/// `n`, or the bound that it exceeds. Precondition: low <= high.
TARN_STEP constexpr std::size_t clamped(std::size_t n, std::size_t low, std::size_t high) noexcept {
  return smaller(larger(n, low), high);
}

TARN_STEP constexpr bool is_power_of_two(std::size_t n) noexcept { return n != 0 && (n & (n - 1)) == 0; }

/// `n` rounded up to a multiple of `power`, a power of two. Precondition: both at most size_limit.
TARN_STEP constexpr std::size_t round_up(std::size_t n, std::size_t power) noexcept { return (n + power - 1) & ~(power - 1); }

/// The largest power of two that divides `n`; 1 for 0.
TARN_STEP constexpr std::size_t lowest_bit(std::size_t n) noexcept { return n == 0 ? 1 : n & (~n + 1); }

/// The alignment that an object of that many bytes can need: a power of two, at most that of std::max_align_t.
constexpr std::size_t natural_alignment(std::size_t bytes) noexcept {
  return smaller(lowest_bit(bytes), alignof(std::max_align_t));
}

/// a * b, or size_max if the product doesn't fit.
TARN_STEP constexpr std::size_t multiply(std::size_t a, std::size_t b) noexcept {
  return b != 0 && a > size_max / b ? size_max : a * b;
}

/// Whether n * unit > limit. Most factors are so small that it needs no division.
TARN_STEP constexpr bool exceeds(std::size_t n, std::size_t unit, std::size_t limit) noexcept {
  constexpr std::size_t half = std::size_t{1} << (sizeof(std::size_t) * 4);
  return ((n | unit) >= half || n * unit > limit) && n > limit / unit;
}

/// a + b, or size_max if the sum doesn't fit.
TARN_STEP constexpr std::size_t add(std::size_t a, std::size_t b) noexcept { return a > size_max - b ? size_max : a + b; }

/// n / Divisor, or size_max if that leaves a remainder, without a division: the inverse of the odd part undoes a
/// multiplication; what is larger than any quotient was no product.
template <std::size_t Divisor>
constexpr std::size_t exact_quotient(std::size_t n) noexcept {
  constexpr auto zeros = std::countr_zero(Divisor);
  constexpr std::size_t inverse = [](std::size_t odd) {
    std::size_t found = odd;  // three bits of it are right
    for (std::size_t bits = 3; bits < 8 * sizeof odd; bits *= 2) found *= 2 - odd * found;
    return found;
  }(Divisor >> zeros);
  const std::size_t quotient = std::rotr(n * inverse, zeros);
  return quotient <= size_max / Divisor ? quotient : size_max;
}

/// a / b. Slow, for reports, where the processor can't divide.
constexpr std::size_t quotient(std::size_t a, std::size_t b) noexcept {
  if constexpr (platform::has_division) return a / b;
  std::size_t n = 0;
  for (; a >= b; a -= b) ++n;
  return n;
}

TARN_STEP std::uintptr_t address_of(const void* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_ARITHMETIC_H_

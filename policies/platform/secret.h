// A number that differs from one run of the program to the next, so that what a free block holds can't be guessed.
#ifndef TARN_POLICIES_PLATFORM_SECRET_H_
#define TARN_POLICIES_PLATFORM_SECRET_H_

#include <cstdint>
#include <cstring>

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"

#if defined(__linux__)
#include <sys/auxv.h>
#endif

namespace tarn::detail {

TARN_ONE_IN_PROCESS inline constinit atomic_word<std::uintptr_t> secret_of_process = 0;

/// 16 random bytes that Linux gives every program at its start (AT_RANDOM); elsewhere an address. Every call returns the same,
/// so that threads that ask first at the same time agree.
TARN_COLD inline std::uintptr_t make_secret() noexcept {
  std::uintptr_t made = reinterpret_cast<std::uintptr_t>(&secret_of_process) * static_cast<std::uintptr_t>(0x9E3779B97F4A7C15u);
#if defined(__linux__)
  if (const auto* const random = reinterpret_cast<const char*>(getauxval(AT_RANDOM))) {
    std::uintptr_t words[2];
    std::memcpy(words, random, sizeof words);
    made ^= words[0] ^ words[1] << 1;
  }
#endif
  made |= 1;
  secret_of_process.store(made, memory_order_relaxed);
  return made;
}

inline std::uintptr_t secret() noexcept {
  const std::uintptr_t known = secret_of_process.load(memory_order_relaxed);
  if (known == 0) [[unlikely]] return make_secret();
  return known;
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_SECRET_H_

// Numbers that differ from one run of the program to the next, so that what a pool writes into its memory can't be guessed.
#ifndef TARN_POLICIES_PLATFORM_SECRET_H_
#define TARN_POLICIES_PLATFORM_SECRET_H_

#include <cstdint>

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"

namespace tarn::detail {

// Order: secret store release, load acquire; factor relaxed. The factor is stored before the secret and read after it. Threads
// that create them at once create the same values.
TARN_ONE_IN_PROCESS inline constinit atomic_word<std::uintptr_t> secret_of_process = 0;
TARN_ONE_IN_PROCESS inline constinit atomic_word<std::uintptr_t> factor_of_process = 0;  // set before the other one

/// MurmurHash3's finalisers (Appleby, 2011): bijections that leave no pattern.
constexpr std::uint64_t scatter(std::uint64_t n) noexcept {
  n = (n ^ n >> 33) * 0xFF51AFD7ED558CCDu;
  n = (n ^ n >> 33) * 0xC4CEB9FE1A85EC53u;
  return n ^ n >> 33;
}
constexpr std::uint32_t scatter_short(std::uint32_t n) noexcept {
  n = (n ^ n >> 16) * 0x85EBCA6Bu;
  n = (n ^ n >> 13) * 0xC2B2AE35u;
  return n ^ n >> 16;
}

/// From the 16 random bytes that Linux gives every program at its start (AT_RANDOM). From nothing else, so that every copy of
/// this code in the process, in a library as well, has the same secret. Elsewhere from an address (anyone who has the
/// firmware's program knows it anyway). Every call returns the same, so that threads whose first calls are simultaneous agree.
/// Not the bytes themselves, because the C library also uses them.
/// A pool that was reserved doesn't call it.
TARN_NONBLOCKING_BEGIN_
TARN_COLD inline std::uintptr_t make_secret() noexcept TARN_NONBLOCKING_IF_(true) {
  TARN_NOT_IF(secret_drawn);
  const auto place = reinterpret_cast<std::uintptr_t>(&secret_of_process);
  std::uint64_t words[2] = {place, 0};
  std::uintptr_t made, factor;
  if (platform::system::random_words(words) || sizeof place > sizeof(std::uint32_t)) {
    made = static_cast<std::uintptr_t>(scatter(words[0] ^ scatter(words[1]))) | 1;
    factor = static_cast<std::uintptr_t>(scatter(words[1] ^ scatter(words[0] + 1))) | 1;
  } else {
    made = scatter_short(static_cast<std::uint32_t>(place)) | 1;
    factor = scatter_short(static_cast<std::uint32_t>(made)) | 1;
  }
  factor_of_process.store(factor, memory_order_relaxed);
  secret_of_process.store(made, memory_order_release);
  return made;
}
TARN_NONBLOCKING_END_

TARN_STEP std::uintptr_t secret() noexcept {
  const std::uintptr_t known = secret_of_process.load(memory_order_acquire);
  if (known == 0) [[unlikely]] return make_secret();
  return known;
}

/// What a code is for. One place has a code for each, and none of them reveals anything about the others.
enum class coded : std::uintptr_t { link, guard, canary, order };

/// Both halves of a product, in one word.
TARN_STEP std::uintptr_t folded_product(std::uintptr_t a, std::uintptr_t b) noexcept {
#if UINTPTR_MAX > UINT32_MAX && !defined(__SIZEOF_INT128__)
  // By halves of the words, because MSVC has no larger number.
  const std::uint64_t low_a = a & UINT32_MAX, high_a = a >> 32, low_b = b & UINT32_MAX, high_b = b >> 32;
  const std::uint64_t middle = low_a * high_b + (low_a * low_b >> 32);
  const std::uint64_t other = high_a * low_b + (middle & UINT32_MAX);
  return (a * b) ^ (high_a * high_b + (middle >> 32) + (other >> 32));
#else
#if UINTPTR_MAX > UINT32_MAX
  __extension__ using wide = unsigned __int128;
#else
  using wide = std::uint64_t;
#endif
  static_assert(sizeof(wide) == 2 * sizeof a);
  const wide product = static_cast<wide>(a) * b;
  return static_cast<std::uintptr_t>(product) ^ static_cast<std::uintptr_t>(product >> 8 * sizeof a);
#endif
}

/// A number for an address. It isn't linear: anyone who learns it has one equation with two unknown words, and knows neither
/// the number of another address nor the difference between two. It isn't a cipher: several numbers may reveal the secret.
TARN_STEP std::uintptr_t code_of(const void* place, coded use) noexcept {
  const std::uintptr_t key = secret() ^ static_cast<std::uintptr_t>(use) << (8 * sizeof key - 2);  // no address has these bits
  return folded_product(reinterpret_cast<std::uintptr_t>(place) ^ key, factor_of_process.load(memory_order_relaxed));
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_SECRET_H_

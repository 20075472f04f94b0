// Bytes around a block, and in a free one, that only the pool should write.
//
//   | guard bytes | payload: while the block is free, all the same | guard bytes |
#ifndef TARN_POLICIES_CHECKING_DETAIL_GUARD_BYTES_H_
#define TARN_POLICIES_CHECKING_DETAIL_GUARD_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/platform/secret.h"

namespace tarn::detail {

/// Damaged bytes: where the first is, how many there are up to the last, and the value of the first.
struct damage {
  std::size_t first = 0;
  std::size_t bytes = 0;
  unsigned char value = 0;
  explicit operator bool() const noexcept { return bytes != 0; }
};

/// The damage in bytes[0 .. n), where each should be as `expected` says.
template <class Expected>
TARN_COLD damage find_damage(const std::byte* bytes, std::size_t n, Expected expected) noexcept {
  damage found;
  for (std::size_t i = 0; i != n; ++i) {
    if (bytes[i] == expected(i)) continue;
    if (!found) found = {i, 0, std::to_integer<unsigned char>(bytes[i])};
    found.bytes = i + 1 - found.first;
  }
  return found;
}

/// 16 bytes in front of a block and 16 behind it, computed from its address and what is kept in front of it, so that a copy of
/// another block's doesn't pass.
class guard_words {
 public:
  static constexpr std::size_t bytes = 16;

  TARN_STEP guard_words(const void* block, std::size_t size) noexcept
      : block_(static_cast<const std::byte*>(block)), size_(size), word_(word_for(block)) {}

  TARN_STEP void write(std::uintptr_t kept) const noexcept {
    put(block_ - bytes, word_ ^ kept, ~word_);
    put(block_ + size_, ~word_, word_);
  }
  TARN_STEP bool stand(std::uintptr_t kept) const noexcept {
    return (difference(block_ - bytes, word_ ^ kept, ~word_) | difference(block_ + size_, ~word_, word_)) == 0;
  }
  damage in_front(std::uintptr_t kept) const noexcept { return find(block_ - bytes, word_ ^ kept, ~word_); }
  damage behind() const noexcept { return find(block_ + size_, ~word_, word_); }

  /// What is kept in front of a block, given a copy of the bytes there; 0 if they aren't guard bytes.
  static std::uintptr_t kept_in(const void* block, const std::uint64_t (&copy)[2]) noexcept {
    const std::uint64_t word = word_for(block);
    return copy[1] == ~word ? static_cast<std::uintptr_t>(copy[0] ^ word) : 0;
  }

 private:
  TARN_STEP static std::uint64_t word_for(const void* block) noexcept { return code_of(block, coded::guard); }

  TARN_STEP static void put(const std::byte* at, std::uint64_t first, std::uint64_t second) noexcept {
    [[maybe_unused]] const memory_tools::window look(at, bytes);
    const std::uint64_t words[] = {first, second};
    std::memcpy(const_cast<std::byte*>(at), words, bytes);
  }
  TARN_STEP static std::uint64_t difference(const std::byte* at, std::uint64_t first, std::uint64_t second) noexcept {
    [[maybe_unused]] const memory_tools::window look(at, bytes);
    std::uint64_t found[2];
    std::memcpy(found, at, bytes);
    return (found[0] ^ first) | (found[1] ^ second);
  }
  static damage find(const std::byte* at, std::uint64_t first, std::uint64_t second) noexcept {
    [[maybe_unused]] const memory_tools::window look(at, bytes);
    const std::uint64_t words[] = {first, second};
    return find_damage(at, bytes, [&](std::size_t i) { return reinterpret_cast<const std::byte*>(words)[i]; });
  }

  const std::byte* block_;
  std::size_t size_;
  std::uint64_t word_;
};

/// The payload of a free block.
struct free_fill {
  static constexpr unsigned char value = 0xDD;
  static constexpr std::uint64_t word = 0xDDDDDDDDDDDDDDDDu;

  static void write(std::byte* at, std::size_t n) noexcept {
    std::byte* const end = at + n;
    for (std::byte* const last = end - n % sizeof word; at != last; at += sizeof word) std::memcpy(at, &word, sizeof word);
    for (; at != end; ++at) *at = std::byte{value};
  }
  static bool stands(const std::byte* at, std::size_t n) noexcept {
    [[maybe_unused]] const memory_tools::window look(at, n);
    std::uint64_t other = 0;
    const std::byte* const end = at + n;
    for (const std::byte* const last = end - n % sizeof word; at != last; at += sizeof word) {
      std::uint64_t found;
      std::memcpy(&found, at, sizeof found);
      other |= found ^ word;
    }
    for (; at != end; ++at) other |= std::to_integer<unsigned>(*at) ^ value;
    return other == 0;
  }
  static damage find(const std::byte* at, std::size_t n) noexcept {
    return find_damage(at, n, [](std::size_t) { return std::byte{value}; });
  }
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_CHECKING_DETAIL_GUARD_BYTES_H_

// What a thread writes into a block that it holds, and looks for before it gives it back.
#ifndef TARN_TEST_STRESS_STAMPS_H_
#define TARN_TEST_STRESS_STAMPS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tarn::test {

/// A block's first word is its stamp, from which all others follow: another for each taking, in its lower half; the upper half
/// says of which block it is. All words of a small block are written and read; of a large one, those at both ends. No block is
/// smaller than a word.
class stamps {
 public:
  static void put(void* block, std::size_t bytes, std::uint32_t low) {
    const std::uint64_t stamp = stamp_of(block, low);
    each_word(block, bytes, [&](std::byte* at, std::size_t i, std::size_t n) {
      const std::uint64_t word = word_of(stamp, i);
      std::memcpy(at, &word, n);
    });
  }
  /// The lower half, if nobody has changed it.
  static std::uint32_t look(const void* block) {
    std::uint64_t stamp = 0;
    std::memcpy(&stamp, block, sizeof stamp);
    return static_cast<std::uint32_t>(stamp);
  }
  /// Returns how many words aren't what was put there, and spoils them all.
  static std::size_t take(void* block, std::size_t bytes) {
    std::uint64_t stamp = 0;
    std::memcpy(&stamp, block, sizeof stamp);
    std::size_t spoiled = stamp != stamp_of(block, static_cast<std::uint32_t>(stamp));
    each_word(block, bytes, [&](std::byte* at, std::size_t i, std::size_t n) {
      const std::uint64_t word = word_of(stamp, i);
      if (std::memcmp(at, &word, n) != 0) ++spoiled;
      std::memset(at, 0xDD, n);
    });
    return spoiled;
  }

 private:
  static constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  static constexpr std::uint64_t factor = 0x9E3779B97F4A7C15u;

  static std::uint64_t stamp_of(const void* block, std::uint64_t low) {
    const std::uint64_t mark = (low + 1) * (reinterpret_cast<std::uintptr_t>(block) | 1) * factor;
    return (mark & ~std::uint64_t{0xFFFFFFFF}) | low;
  }
  static std::uint64_t word_of(std::uint64_t stamp, std::size_t i) { return i == 0 ? stamp : (stamp + i) * factor; }

  template <class Visit>
  static void each_word(void* block, std::size_t bytes, Visit visit) {
    auto* const start = static_cast<std::byte*>(block);
    for (std::size_t at = 0; at < bytes; at += word_bytes) {
      if (at == 4 * word_bytes && bytes > 12 * word_bytes) at = bytes / word_bytes * word_bytes - 4 * word_bytes;
      visit(start + at, at / word_bytes, std::min(word_bytes, bytes - at));
    }
  }
};

}  // namespace tarn::test

#endif  // TARN_TEST_STRESS_STAMPS_H_

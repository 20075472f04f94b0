// Bytes in front of a chunk's record that nobody writes. Who runs over the end of the chunk before comes past them first.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_RED_LINE_H_
#define TARN_ALLOCATOR_DETAIL_CORE_RED_LINE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tarn/policies/platform/secret.h"

namespace tarn::detail {

/// A cache line: an overrun that writes with gaps, such as one member of each object, hits it, too.
class red_line {
 public:
  static constexpr std::size_t bytes = 64;

  static void draw(std::byte* line) noexcept {
    const words expected = words_of(line);
    std::memcpy(line, expected.word, bytes);
  }
  static bool stands(const std::byte* line) noexcept {
    const words expected = words_of(line);
    return std::memcmp(line, expected.word, bytes) == 0;
  }

 private:
  struct words {
    std::uint64_t word[bytes / sizeof(std::uint64_t)];
  };
  /// Differ from line to line, so that a copy of another one doesn't pass.
  static words words_of(const std::byte* line) noexcept {
    words all;
    std::uint64_t next = code_of(line, coded::canary);
    for (std::uint64_t& word : all.word) word = next = scatter(next + 1);
    return all;
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_RED_LINE_H_

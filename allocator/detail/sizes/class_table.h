// What is known of each class before the program runs: which class a number of bytes belongs to, and how many blocks of it
// magazines hold. Class 0 is none; class c is the policy's c - 1.
#ifndef TARN_ALLOCATOR_DETAIL_SIZES_CLASS_TABLE_H_
#define TARN_ALLOCATOR_DETAIL_SIZES_CLASS_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/platform/config.h"
#include "tarn/policies/size.h"

namespace tarn::detail {

/// Any policy of classes as a table, because a branch in the search is mispredicted where sizes vary: a pair of calls takes 2.8
/// instead of 4.1 ns (AMD EPYC).
template <size_class_policy Classes>
class class_table {
 public:
  static constexpr unsigned count = static_cast<unsigned>(Classes::count) + 1;
  static constexpr std::size_t largest = Classes::largest;

  /// The smallest class with room. Precondition: at most `largest` bytes; 0 counts as 1.
  TARN_STEP static constexpr unsigned of(std::size_t bytes) noexcept { return table_.of_step[(bytes + step - 1) / step]; }
  /// Bytes in a block. Precondition: a class.
  TARN_STEP static constexpr std::size_t bytes(unsigned c) noexcept { return table_.bytes[c]; }
  /// The block of its span that contains the byte at that offset. A multiplication, because a division takes 20 instead of 3
  /// cycles.
  /// Precondition: a class, and less than 2^20.
  TARN_STEP static constexpr std::uint32_t block_at(unsigned c, std::size_t offset) noexcept {
    return static_cast<std::uint32_t>(std::uint64_t{offset} * table_.inverse[c] >> shift);
  }

 private:
  static_assert(count < 256, "a class is a byte");

  /// Of which all sizes are multiples.
  static constexpr std::size_t common_step() noexcept {
    std::size_t bits = 16;
    for (std::size_t i = 0; i != Classes::count; ++i) bits |= Classes::size(i);
    return bits & (~bits + 1);
  }
  static constexpr std::size_t step = common_step();
  static constexpr unsigned shift = 40;  // exact: 2^20 offsets and sizes of up to 2^20 need as many bits together

  struct table {
    unsigned char of_step[largest / step + 1] = {};
    std::uint32_t bytes[count] = {};
    std::uint64_t inverse[count] = {};

    constexpr table() noexcept {
      for (unsigned c = 1; c != count; ++c) {
        const std::size_t size = Classes::size(c - 1);
        bytes[c] = static_cast<std::uint32_t>(size);
        inverse[c] = ((std::uint64_t{1} << shift) + size - 1) / size;
      }
      unsigned c = 1;
      for (std::size_t at = 0; at <= largest / step; ++at) {
        while (bytes[c] < at * step) ++c;
        of_step[at] = static_cast<unsigned char>(c);
      }
    }
  };
  static constexpr table table_{};
};

/// How much the caches of a process or a pool may hold, in bytes of blocks.
struct cache_limits {
  std::size_t magazine = 32 * 1024;  // in the largest magazine of a class
  std::size_t first = 1024;  // in its first
  std::size_t depot = 256 * 1024;  // in the full magazines of a class that no thread has
  std::size_t part = 2 * 1024 * 1024;  // for which a thread's magazines have room
};

/// How large the magazines of each class are.
template <class Table>
struct magazine_plan {
  static constexpr unsigned least = 2, most = 9;  // of a magazine of 2^k words, three of which aren't blocks
  static constexpr std::uint32_t blocks(unsigned k) noexcept { return (1u << k) - 3; }

  unsigned char largest[Table::count] = {}, first[Table::count] = {};  // k
  std::uint32_t depot[Table::count] = {};  // full magazines
  std::uint32_t part = 0;  // bytes

  constexpr explicit magazine_plan(const cache_limits& limits) noexcept : part(static_cast<std::uint32_t>(limits.part)) {
    for (unsigned c = 1; c != Table::count; ++c) {
      const std::size_t bytes = Table::bytes(c);
      unsigned k = least, begin = least;
      while (k < most && blocks(k + 1) * bytes <= limits.magazine) ++k;
      while (begin < k && blocks(begin) * bytes < limits.first) ++begin;
      const std::size_t full = limits.depot / (blocks(k) * bytes);
      largest[c] = static_cast<unsigned char>(k);
      first[c] = static_cast<unsigned char>(begin);
      depot[c] = static_cast<std::uint32_t>(full < 2 ? 2 : full);
    }
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_SIZES_CLASS_TABLE_H_

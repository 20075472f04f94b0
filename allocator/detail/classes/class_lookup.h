// From a request's size and alignment to its size class.
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_LOOKUP_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_LOOKUP_H_

#include <cstddef>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/geometry.h"

namespace tarn::detail {

/// The classes of the requests of up to `Entries` times `Step` bytes, in a table. With sizes in random order the branches of
/// index() are mispredicted: a pair of calls of size_class_pool 11.2 to 6.9 ns (prototype, Zen 5).
template <class Classes, std::size_t Step, std::size_t Entries>
struct class_table {
  unsigned char of[Entries + 1]{};
  constexpr class_table() noexcept {
    for (std::size_t i = 0; i != Entries; ++i) of[i] = static_cast<unsigned char>((Classes::index)((i + 1) * Step));
  }
};

template <class Classes>
class class_lookup {
  static constexpr std::size_t largest_alignment = cache_line;  // of a class; a request for more gets a region of its own

  static constexpr std::size_t alignment_of_all() noexcept {
    std::size_t least = largest_alignment;
    for (std::size_t i = 0; i != Classes::count; ++i) least = smaller(least, alignment(i));
    return least;
  }
  /// Whether the smallest class for a size that was rounded up to an alignment always has that alignment, too.
  static constexpr bool aligned_by_rounding() noexcept {
    for (std::size_t a = 1; a <= largest_alignment; a *= 2)
      for (std::size_t i = 0; i != Classes::count; ++i) {
        const std::size_t largest = Classes::size(i) / a * a;  // rounded size that fits
        const bool comes_here = largest > (i == 0 ? 0 : Classes::size(i - 1));
        if (comes_here && alignment(i) < a) return false;
      }
    return true;
  }

 public:
  static constexpr std::size_t none = size_max;

  /// The alignment of the blocks of class `i`, in bytes.
  static constexpr std::size_t alignment(std::size_t i) noexcept {
    return smaller(lowest_bit(Classes::size(i)), largest_alignment);
  }
  /// An alignment that the blocks of every class have.
  static constexpr std::size_t common_alignment = alignment_of_all();

  // Every class is a multiple of the common alignment, so requests that round up to the same multiple have the same class.
  static constexpr std::size_t table_entries = Classes::count > 256 ? 0 : smaller(Classes::largest / common_alignment, 256);
  static constexpr class_table<Classes, common_alignment, table_entries> table{};

  /// Precondition: from 1 to `table_entries` times the common alignment.
  static constexpr std::size_t tabled(std::size_t bytes) noexcept { return table.of[(bytes - 1) / common_alignment]; }
  /// The class of nearly every request. `none`: the request has no class, or find() must decide.
  static constexpr std::size_t at_once(std::size_t bytes, std::size_t align) noexcept {
    if (align > common_alignment || bytes - 1 >= Classes::largest) [[unlikely]]
      return none;
    const std::size_t entry = (bytes - 1) / common_alignment;
    constexpr bool in_table = table_entries == Classes::largest / common_alignment;
    return in_table || entry < table_entries ? table.of[entry] : (Classes::index)(bytes);
  }
  /// The class of any request, or `none`. `align` is a power of two.
  static constexpr std::size_t find(std::size_t bytes, std::size_t align) noexcept {
    if (align > largest_alignment || bytes > Classes::largest) return none;
    const std::size_t rounded = round_up(larger(bytes, 1), align);
    if (rounded > Classes::largest) return none;
    std::size_t i = (Classes::index)(rounded);
    if constexpr (!aligned_by_rounding()) {
      while (i != Classes::count && alignment(i) < align) ++i;
      if (i == Classes::count) return none;
    }
    return i;
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_LOOKUP_H_

// decides    blocks of many sizes, by class: Smallest, 2, 3 … 8 times Smallest, then four classes per doubling, up to
//            Largest
// costs      a few instructions to find a class; a block is less than Smallest bytes, or a quarter, larger than requested
// conflicts  pool and anything else with one block size; use size_class_pool
// use when   sizes are known only at run time (the default of size_class_pool)
#ifndef TARN_POLICIES_SIZE_GEOMETRIC_CLASSES_H_
#define TARN_POLICIES_SIZE_GEOMETRIC_CLASSES_H_

#include <bit>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/arithmetic.h"

namespace tarn {

/// \tparam Smallest  bytes in the smallest class, a power of two, at least 16
/// \tparam Largest   bytes in the largest class, a class itself
/// The spacing is that of jemalloc's size classes.
template <std::size_t Smallest = 16, std::size_t Largest = 4096>
struct geometric_classes {
  using axis = tarn::axis::size;
  static constexpr std::size_t largest = Largest;

  /// The smallest class that has room for that many bytes. Precondition: from 1 to `largest`.
  static constexpr std::size_t (index)(std::size_t bytes) noexcept {
    const std::size_t last = bytes - 1;
    if (last < 8 * Smallest) [[likely]]
      return last / Smallest;
    const auto width = static_cast<unsigned>(std::bit_width(last | (4 * Smallest)));
    return (last >> (width - 3)) + 4 * (width - first_width);
  }
  /// Bytes in a block of class `i`.
  static constexpr std::size_t size(std::size_t i) noexcept {
    if (i < 8) return (i + 1) * Smallest;
    return (i % 4 + 5) * Smallest << (i / 4 - 1);
  }

 private:
  static constexpr unsigned first_width = static_cast<unsigned>(std::bit_width(8 * Smallest - 1));
  static constexpr bool in_range = Smallest >= 16 && detail::is_power_of_two(Smallest) && Largest >= Smallest;

 public:
  static constexpr std::size_t count = in_range ? (index)(in_range ? Largest : 1) + 1 : 0;
  static constexpr bool arguments_hold = in_range && size(count - 1) == Largest;
  struct complaint {
    static_assert(
        arguments_hold,
        "tarn: [S3] geometric_classes whose smallest class is no power of two from 16 up, or whose largest is no class; "
        "take 16, 32 ... for the one and a power of two for the other");
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_SIZE_GEOMETRIC_CLASSES_H_

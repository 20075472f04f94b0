// decides    blocks of many sizes, by class: Smallest, 2, 3 … 8 times Smallest, then four classes per doubling, up to
//            Largest
// costs      a few instructions to find a class; a block is less than Smallest bytes, or a quarter, larger than requested
// conflicts  pool and anything else with one block size; use size_class_pool
// use when   sizes are known only at run time (the default of size_class_pool)
#ifndef TARN_POLICIES_SIZE_SIZE_CLASSES_H_
#define TARN_POLICIES_SIZE_SIZE_CLASSES_H_

#include <bit>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"

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

// decides    blocks of the listed sizes, and no others
// costs      a binary search to find a class
// conflicts  pool and anything else with one block size; use size_class_pool
// use when   a program requests a few known sizes, and memory is scarce
/// \tparam Bytes  the classes in bytes, ascending
template <std::size_t... Bytes>
struct listed_classes {
  using axis = tarn::axis::size;
  static constexpr std::size_t count = sizeof...(Bytes);

 private:
  static constexpr std::size_t classes[count + 1]{Bytes...};  // an array of none isn't C++
  static constexpr bool ascends() noexcept {
    for (std::size_t i = 1; i < count; ++i)
      if (classes[i - 1] >= classes[i]) return false;
    return true;
  }

 public:
  static constexpr bool arguments_hold = count != 0 && ascends() && ((Bytes != 0 && Bytes <= detail::size_limit) && ...);
  struct complaint {
    static_assert(
        arguments_hold,
        "tarn: [S4] listed_classes whose sizes don't ascend, or that lists none, or a size of zero; write each size once, "
        "the smallest first: listed_classes<24, 40, 96>");
  };
  static constexpr std::size_t largest = arguments_hold ? classes[count - 1] : 0;

  /// The smallest class that has room for that many bytes. Precondition: from 1 to `largest`.
  static constexpr std::size_t (index)(std::size_t bytes) noexcept {
    std::size_t first = 0;
    for (std::size_t n = count; n != 0;) {  // candidates, from `first` on
      const std::size_t half = n / 2;
      if (classes[first + half] < bytes) first += half + 1, n -= half + 1;
      else n = half;
    }
    return first;
  }
  /// Bytes in a block of class `i`.
  static constexpr std::size_t size(std::size_t i) noexcept { return classes[i]; }
};

}  // namespace tarn

#endif  // TARN_POLICIES_SIZE_SIZE_CLASSES_H_

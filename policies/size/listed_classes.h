// decides    blocks of the listed sizes, and no others
// costs      a binary search to find a class
// conflicts  pool and anything else with one block size; use size_class_pool
// use when   a program requests a few known sizes, and memory is scarce
#ifndef TARN_POLICIES_SIZE_LISTED_CLASSES_H_
#define TARN_POLICIES_SIZE_LISTED_CLASSES_H_

#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/arithmetic.h"

namespace tarn {

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

#endif  // TARN_POLICIES_SIZE_LISTED_CLASSES_H_

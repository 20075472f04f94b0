// decides    blocks for objects of type T: sizeof(T) bytes, aligned to alignof(T)
// costs      nothing; types of equal size and alignment share one instantiation of the pool
// conflicts  none
// use when   the blocks are for one type
#ifndef TARN_POLICIES_SIZE_SIZE_OF_H_
#define TARN_POLICIES_SIZE_SIZE_OF_H_

#include <cstddef>
#include <type_traits>

#include "tarn/policies/size/static_size.h"
#include "tarn/policies/size/traits.h"

namespace tarn {

/// \tparam T  an object type that is complete where the pool is named
template <class T>
struct size_of {
  using axis = tarn::axis::size;
  static constexpr size_traits traits{};

  static constexpr bool is_object = std::is_object_v<T> && !std::is_unbounded_array_v<T>;
  static constexpr bool is_complete = !is_object || requires { sizeof(T); };
  static constexpr bool arguments_hold = is_object && is_complete;
  struct complaint {
    static_assert(is_object,
                  "tarn: [S1] size_of<T> was given a reference, a function, void or an array without a bound, which have no "
                  "size; name an object type, or use static_size<Bytes>");
    static_assert(is_complete,
                  "tarn: [S2] size_of<T> was given a type that is only declared here, so its size is unknown; include its "
                  "definition before the pool is named, or use static_size<Bytes>");
  };

  /// Return the size and the alignment of a T in bytes.
  static constexpr std::size_t bytes() noexcept {
    if constexpr (is_object && is_complete) return sizeof(T);
    else return 1;
  }
  static constexpr std::size_t alignment() noexcept {
    if constexpr (is_object && is_complete) return alignof(T);
    else return 1;
  }
  using canonical = static_size<bytes(), alignment()>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_SIZE_SIZE_OF_H_

// decides    blocks of Bytes bytes, aligned to Align, both fixed at compile time
// costs      nothing
// conflicts  none
// use when   the size is known, which is nearly always; size_of<T> says it for a type
#ifndef TARN_POLICIES_SIZE_STATIC_SIZE_H_
#define TARN_POLICIES_SIZE_STATIC_SIZE_H_

#include <cstddef>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/size/traits.h"

namespace tarn {

/// \tparam Bytes  block size in bytes, at least 1
/// \tparam Align  a power of two; natural: the largest that divides Bytes, up to that of std::max_align_t
template <std::size_t Bytes, std::size_t Align = natural>
struct static_size {
  using axis = tarn::axis::size;
  static constexpr size_traits traits{};
  /// Return the size and the alignment of a block in bytes.
  TARN_STEP static constexpr std::size_t bytes() noexcept { return Bytes; }
  TARN_STEP static constexpr std::size_t alignment() noexcept {
    return Align == natural ? detail::natural_alignment(Bytes) : Align;
  }

  /// The spelling that every equal layout shares, so that they share one instantiation too.
  using canonical = static_size<Bytes, alignment()>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_SIZE_STATIC_SIZE_H_

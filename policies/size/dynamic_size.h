// decides    blocks of a size and alignment given to the pool's constructor
// costs      nothing in allocate() and deallocate(); a few instructions where a batch is packed or carved. A block of less than
//            16 bytes takes 16, with lifo_reuse<> 8
// conflicts  static_array_store, whose array is sized at compile time
// use when   the size is read from a file, a schema or a plug-in
#ifndef TARN_POLICIES_SIZE_DYNAMIC_SIZE_H_
#define TARN_POLICIES_SIZE_DYNAMIC_SIZE_H_

#include <cstddef>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/platform/throwing.h"
#include "tarn/policies/size/traits.h"

namespace tarn {

class dynamic_size {
 public:
  using axis = tarn::axis::size;
  static constexpr size_traits traits{.at_run_time = true};

  /// \param bytes      block size in bytes, at least 1
  /// \param alignment  in bytes, a power of two; natural: the largest that divides `bytes`, up to that of std::max_align_t
  /// Throws: std::invalid_argument if the two make no valid block (a build without exceptions aborts).
  constexpr explicit dynamic_size(std::size_t bytes, std::size_t alignment = natural)
      : bytes_(bytes), alignment_(alignment == natural ? detail::natural_alignment(bytes) : alignment) {
    if (bytes_ == 0) detail::throw_invalid_argument("tarn: dynamic_size: a block of zero bytes; give at least 1");
    if (!detail::is_power_of_two(alignment_))
      detail::throw_invalid_argument("tarn: dynamic_size: an alignment that is no power of two");
    if (bytes_ > detail::size_limit || alignment_ > detail::size_limit)
      detail::throw_invalid_argument("tarn: dynamic_size: a block larger than an address space");
  }

  /// Return what it was made with, in bytes.
  constexpr std::size_t bytes() const noexcept { return bytes_; }
  constexpr std::size_t alignment() const noexcept { return alignment_; }

 private:

  std::size_t bytes_;
  std::size_t alignment_;
};

}  // namespace tarn

#endif  // TARN_POLICIES_SIZE_DYNAMIC_SIZE_H_

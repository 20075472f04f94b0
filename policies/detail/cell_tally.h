// Counts blocks in cells of the locking policy, which every call changes.
#ifndef TARN_POLICIES_DETAIL_CELL_TALLY_H_
#define TARN_POLICIES_DETAIL_CELL_TALLY_H_

#include <cstddef>

#include "tarn/policies/detail/shared_cell.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// \tparam Cell  a number that is safe to change where a hit does
template <class Cell>
class cell_tally {
 public:
  TARN_STEP constexpr void add(std::size_t blocks) noexcept {
    allocations_ += blocks;
    in_use_ += blocks;
    detail::raise(peak_, static_cast<std::size_t>(in_use_));
  }
  TARN_STEP constexpr void subtract(std::size_t blocks) noexcept { in_use_ -= blocks; }
  TARN_STEP constexpr bool try_add() noexcept { return add(1), true; }
  TARN_STEP constexpr bool try_subtract() noexcept { return subtract(1), true; }
  constexpr void settle() noexcept { in_use_ = 0; }

  constexpr std::size_t in_use() const noexcept { return in_use_; }
  constexpr std::size_t peak() const noexcept { return peak_; }
  constexpr std::size_t allocations() const noexcept { return allocations_; }

 private:
  Cell in_use_ = 0;
  Cell peak_ = 0;
  Cell allocations_ = 0;
};

/// The locking policy's own way to count blocks, if it has one.
template <class Locking, bool HasOwn>
struct tally_of {
  using type = cell_tally<typename Locking::template cell<std::size_t>>;
};
template <class Locking>
struct tally_of<Locking, true> {
  using type = typename Locking::tally;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_CELL_TALLY_H_

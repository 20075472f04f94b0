// The members of a pool that set blocks aside. What they return is defined in a header of its own, which pool.h need not
// include: templates, so that only those who call them need it.
#ifndef TARN_ALLOCATOR_DETAIL_POOL_RESERVING_H_
#define TARN_ALLOCATOR_DETAIL_POOL_RESERVING_H_

#include <cstddef>
#include <new>

#include "tarn/allocator/detail/compose/rejected.h"
#include "tarn/policies/detail/declared.h"
#include "tarn/policies/platform/config.h"

namespace tarn {

template <class Members>
class block_reservation;

namespace detail {

/// A part of pool_members.
template <class Members>
class reserving {
 public:
  /// What reserve_blocks() and try_reserve_blocks() return.
  using reservation = block_reservation<Members>;

#if TARN_EXCEPTIONS
  /// Sets `blocks` blocks aside, whose pages are brought into memory: as many allocations through the reservation that it
  /// returns can't fail, whatever else happens. Needs "tarn/allocator/block_reservation.h". O(blocks).
  /// Throws: std::bad_alloc if it can't get all of them; then it takes none, and the pool keeps no chunk obtained for them.
  template <class Reservation = reservation>
  auto reserve_blocks(std::size_t blocks) {
    auto all = try_reserve_blocks<Reservation>(blocks);
    if (!static_cast<bool>(all)) throw std::bad_alloc();
    return all;
  }
#endif

  /// Like reserve_blocks(), but what it returns is false if the pool can't get all of them.
  template <class Reservation = reservation>
  auto try_reserve_blocks(std::size_t blocks) noexcept {
    static_assert(defined<Reservation>, "tarn: [I4] reserve_blocks() needs tarn/allocator/block_reservation.h; include it");
    if constexpr (defined<Reservation>) return Reservation(static_cast<Members&>(*this), blocks);
    else return rejected();
  }
};

}  // namespace detail

}  // namespace tarn

#endif  // TARN_ALLOCATOR_DETAIL_POOL_RESERVING_H_

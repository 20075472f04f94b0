// decides    pages of memory in which no block is in use go back to the system, although others of their chunk are in use, as
//            soon as more is idle than KeepPercent of what is in use; wholly free chunks go back to the store then
// costs      nothing for an allocation or a free; it implies page_local_reuse, and adds two bits and a little for each block. A
//            page that is used again is a page fault: a load that swings needs trim() or maintain(), not this
// conflicts  stores whose pages can't go or aren't the system's; reuse policies that don't see empty chunks; lock_free
// use when   a pool shrinks to a part of its peak and other code needs the memory
#ifndef TARN_POLICIES_RETENTION_RETURN_EMPTY_PAGES_H_
#define TARN_POLICIES_RETENTION_RETURN_EMPTY_PAGES_H_

#include <cstddef>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/platform/page_advice.h"
#include "tarn/policies/retention/return_empty_chunks.h"
#include "tarn/policies/retention/traits.h"
#include "tarn/policies/reuse/page_local_reuse.h"

namespace tarn {

/// \tparam KeepPercent  how much may be idle, in percent of the bytes of blocks in use; then half of that stays
/// \tparam KeepBytes    how much may be idle in any case, in bytes
/// \tparam Advice       whether the pages leave at once, or when the system needs them
template <std::size_t KeepPercent = 25, std::size_t KeepBytes = 1024 * 1024, page_advice Advice = page_advice::discard>
struct return_empty_pages {
  using axis = tarn::axis::retention;
  using implies = page_local_reuse<>;
  static constexpr retention_traits traits{.returns_chunks = true, .returns_pages = true, .tells_surplus = true};
  static constexpr page_advice advice = Advice;

  /// Bytes that may be idle.
  static constexpr std::size_t most_idle(std::size_t in_use) noexcept {
    return detail::larger(in_use / 100 * KeepPercent, KeepBytes);
  }

  // Counts chunks, for a pool whose checking policy needs its pages.
  struct state : return_empty_chunks<>::state {
    constexpr explicit state(const return_empty_pages&) noexcept : return_empty_chunks<>::state(return_empty_chunks<>()) {}
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_RETENTION_RETURN_EMPTY_PAGES_H_

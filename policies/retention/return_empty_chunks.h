// decides    a chunk goes back to the store as soon as it and High others are wholly free; Low of them then stay
// costs      nothing for an allocation or a free; it implies page_local_reuse, which sees which chunks are empty
// conflicts  reuse policies that don't see empty chunks; lock_free, whose readers may still read a chunk
// use when   peaks aren't typical, and other code needs the memory
#ifndef TARN_POLICIES_RETENTION_RETURN_EMPTY_CHUNKS_H_
#define TARN_POLICIES_RETENTION_RETURN_EMPTY_CHUNKS_H_

#include <cstddef>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/retention/traits.h"
#include "tarn/policies/reuse/page_local_reuse.h"

namespace tarn {

/// \tparam Low   empty chunks that stay when some go back
/// \tparam High  empty chunks that there may be before some go back, at least Low: a load that goes up and down by less than
///               High - Low chunks doesn't reach the store
template <std::size_t Low = 1, std::size_t High = 4>
struct return_empty_chunks {
  using axis = tarn::axis::retention;
  using implies = page_local_reuse<>;
  static constexpr bool arguments_hold = Low <= High;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [K1] return_empty_chunks<Low, High> with more chunks that stay than there may be; swap them");
  };
  static constexpr retention_traits traits{.returns_chunks = true, .tells_surplus = true};

  class state {
   public:
    constexpr explicit state(const return_empty_chunks&) noexcept {}
    constexpr detail::status emptied() noexcept {
      return ++empty_ > High ? detail::status::surplus : detail::status::done;
    }
    constexpr void reused() noexcept { --empty_; }
    constexpr std::size_t keep() const noexcept { return Low; }
    constexpr bool has_surplus() const noexcept { return empty_ > High; }

   private:
    std::size_t empty_ = 0;
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_RETENTION_RETURN_EMPTY_CHUNKS_H_

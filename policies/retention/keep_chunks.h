// decides    a chunk never goes back while the pool lives, unless trim() or release() is called
// costs      nothing
// conflicts  none
// use when   the peak recurs, or memory is not shared with anything (the default)
#ifndef TARN_POLICIES_RETENTION_KEEP_CHUNKS_H_
#define TARN_POLICIES_RETENTION_KEEP_CHUNKS_H_

#include <cstddef>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/retention/traits.h"

namespace tarn {

struct keep_chunks {
  using axis = tarn::axis::retention;
  static constexpr retention_traits traits{};

  struct state {
    constexpr explicit state(const keep_chunks&) noexcept {}
    constexpr detail::status emptied() noexcept { return detail::status::done; }
    constexpr void reused() noexcept {}
    constexpr std::size_t keep() const noexcept { return static_cast<std::size_t>(-1); }
  };
};

}  // namespace tarn

#endif  // TARN_POLICIES_RETENTION_KEEP_CHUNKS_H_

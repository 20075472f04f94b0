// expect: tarn: [P6] this retention policy lacks something that the pool uses
// How many chunks stay is not said.
#include <cstddef>

#include "tarn/allocator/pool.h"
#include "tarn/policies/detail/protocol.h"

struct forgetful {
  using axis = tarn::axis::retention;
  static constexpr bool returns_chunks = false;
  struct part {
    constexpr explicit part(const forgetful&) noexcept {}
    constexpr tarn::detail::outcome emptied() noexcept { return tarn::detail::outcome::done; }
    constexpr void reused() noexcept {}
  };
};
struct mindful : forgetful {
  struct part : forgetful::part {
    using forgetful::part::part;
    constexpr std::size_t keep() const noexcept { return 1; }
  };
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, mindful> right;
#else
tarn::pool<tarn::static_size<64>, forgetful> wrong;
#endif

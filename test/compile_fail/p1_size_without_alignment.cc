// expect: tarn: [P1] this size policy lacks something that the pool uses
// It names no alignment.
#include <cstddef>

#include "tarn/allocator/pool.h"

template <std::size_t Bytes>
struct rounded_size {
  using axis = tarn::axis::size;
  static constexpr bool at_run_time = false;
  static constexpr std::size_t bytes() noexcept { return (Bytes + 7) / 8 * 8; }
};
template <std::size_t Bytes>
struct aligned_size : rounded_size<Bytes> {
  static constexpr std::size_t alignment() noexcept { return 8; }
};

#ifdef TARN_TWIN
tarn::pool<aligned_size<60>> right;
#else
tarn::pool<rounded_size<60>> wrong;
#endif

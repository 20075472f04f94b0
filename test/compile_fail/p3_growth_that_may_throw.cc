// expect: tarn: [P3] this growth policy lacks something that the pool uses
// next_chunk() isn't noexcept, but runs under a lock.
#include <cstddef>

#include "tarn/allocator/pool.h"
#include "tarn/policies/detail/protocol.h"

struct throwing_growth {
  using axis = tarn::axis::growth;
  static constexpr std::size_t max_chunks = tarn::unlimited;
  static constexpr bool needs_bounded_store = false;
  tarn::detail::chunk_request next_chunk(std::size_t, std::size_t, std::size_t) const { return {32, 32}; }
};
struct even_growth : throwing_growth {
  tarn::detail::chunk_request next_chunk(std::size_t, std::size_t, std::size_t) const noexcept { return {32, 32}; }
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, even_growth> right;
#else
tarn::pool<tarn::static_size<64>, throwing_growth> wrong;
#endif

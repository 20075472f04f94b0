// expect: tarn: [P5] this reuse policy lacks something that the pool uses
#include <cstddef>

#include "tarn/allocator/pool.h"

struct listless {
  using axis = tarn::axis::reuse;
  static constexpr std::size_t min_block = 8;
  static constexpr std::size_t min_alignment = 8;
  static constexpr bool finds_chunks = false;
  static constexpr bool sees_empty_chunks = false;
  template <class Environment>
  using per_chunk = tarn::lifo_reuse<>::per_chunk<Environment>;
};
struct listed : listless {
  template <class Environment>
  using list = tarn::lifo_reuse<>::list<Environment>;
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, listed> right;
#else
tarn::pool<tarn::static_size<64>, listless> wrong;
#endif

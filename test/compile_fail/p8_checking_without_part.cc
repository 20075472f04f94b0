// expect: tarn: [P8] this checking policy lacks something that the pool uses
#include <cstddef>

#include "tarn/allocator/pool.h"

struct partless {
  using axis = tarn::axis::checking;
  static constexpr bool refuses = false;
  static constexpr bool finds_chunks = false;
  static constexpr std::size_t prefix = 0;
  static constexpr std::size_t suffix = 0;
  template <class Environment>
  using per_chunk = tarn::no_checking::per_chunk<Environment>;
};
struct whole : tarn::no_checking {};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, whole> right;
#else
tarn::pool<tarn::static_size<64>, partless> wrong;
#endif

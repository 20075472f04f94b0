// expect: tarn: [P7] this exhaustion policy lacks something that the pool uses
#include <cstddef>

#include "tarn/allocator/pool.h"

struct partless {
  using axis = tarn::axis::exhaustion;
  static constexpr std::size_t extra_chunks = 0;
};
struct whole : tarn::report_exhaustion {};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, whole> right;
#else
tarn::pool<tarn::static_size<64>, partless> wrong;
#endif

// expect: tarn: [P6] this retention policy lacks something that the pool uses
#include "tarn/allocator/pool.h"

struct partless {
  using axis = tarn::axis::retention;
  static constexpr bool returns_chunks = false;
};
struct whole : tarn::keep_chunks {};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, whole> right;
#else
tarn::pool<tarn::static_size<64>, partless> wrong;
#endif

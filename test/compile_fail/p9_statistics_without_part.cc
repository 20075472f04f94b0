// expect: tarn: [P9] this statistics policy lacks something that the pool uses
#include "tarn/allocator/pool.h"

struct partless {
  using axis = tarn::axis::statistics;
};
struct whole : tarn::no_statistics {};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, whole> right;
#else
tarn::pool<tarn::static_size<64>, partless> wrong;
#endif

// expect: tarn: [P1] this size policy lacks something that the pool uses
// It names its axis, and nothing else.
#include "tarn/allocator/pool.h"

struct half_size {
  using axis = tarn::axis::size;
};
struct whole_size : half_size, private tarn::static_size<64> {
  using half_size::axis;
  using static_size<64>::at_run_time;
  using static_size<64>::bytes;
  using static_size<64>::alignment;
};

#ifdef TARN_TWIN
tarn::pool<whole_size> right;
#else
tarn::pool<half_size> wrong;
#endif

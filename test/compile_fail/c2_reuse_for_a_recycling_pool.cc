// expect: tarn: [C2] two policies were given for the axis reuse
// The state that a recycling_pool keeps in a free slot stands behind the link of lifo_reuse: another would write over it.
#include "tarn/allocator/recycling_pool.h"

struct Grid {
  void reset() { used = 0; }
  int used = 0;
};

#ifdef TARN_TWIN
tarn::recycling_pool<Grid> right;
Grid* use() { return right.acquire(); }
#else
tarn::recycling_pool<Grid, tarn::batch_reuse<>> wrong;
Grid* use() { return wrong.acquire(); }
#endif

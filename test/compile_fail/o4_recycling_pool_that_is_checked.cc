// expect: tarn: [O4] recycling_pool was given a checking policy that leaves no content in free blocks
#include "tarn/allocator/recycling_pool.h"

struct Grid {
  void reset() { used = 0; }
  int used = 0;
};

#ifdef TARN_TWIN
tarn::recycling_pool<Grid, tarn::hardened> right;
void use() { right.release(right.acquire()); }
#else
tarn::recycling_pool<Grid, tarn::checked> wrong;
void use() { wrong.release(wrong.acquire()); }
#endif

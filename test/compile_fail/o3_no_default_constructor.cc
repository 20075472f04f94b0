// expect: tarn: [O3] recycling_pool was given a type without a default constructor
#include "tarn/allocator/recycling_pool.h"

struct Grid {
#ifdef TARN_TWIN
  Grid() : Grid(8) {}
#endif
  explicit Grid(int wide) : width(wide) {}
  void reset() { width = 8; }
  int width;
};

tarn::recycling_pool<Grid> grids;
void use() { grids.release(grids.acquire()); }

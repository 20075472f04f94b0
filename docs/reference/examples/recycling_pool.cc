#include "tarn/allocator/recycling_pool.h"

struct grid {
  void reset() { touched = 0; }
  int touched = 0;
};

int main() {
  tarn::recycling_pool<grid, tarn::static_array_store<2>> grids;
  grid* const first = grids.acquire();
  first->touched = 7;
  grids.release(first);                 // reset() is called
  grid* const second = grids.acquire();  // the same object, not constructed again
  const bool right = second == first && second->touched == 0;
  grids.release(second);
  return right ? 0 : 1;
}

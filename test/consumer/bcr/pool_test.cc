// A block from a pool, and the same one again.

#include "tarn/allocator/pool.h"

int main() {
  tarn::pool<tarn::static_size<64>, tarn::lifo_reuse<>> pool;
  void* const first = pool.allocate();
  pool.deallocate(first);
  void* const second = pool.allocate();
  pool.deallocate(second);
  return first == second ? 0 : 1;
}

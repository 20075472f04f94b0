#include "tarn/allocator/maintenance_thread.h"
#include "tarn/allocator/pool.h"

int main() {
  tarn::pool<tarn::static_size<64>, tarn::mutex_locking<>, tarn::grow_ahead<1000>> pool;
  tarn::maintenance_thread keeper;
  const auto place = keeper.add(pool);  // ends before the pool does
  void* const block = pool.allocate();
  pool.deallocate(block);
}

// What statics.cc must not have: a guard variable, an initialiser, a pool whose array lies in the program's file.
#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"

using block = tarn::static_size<64>;

void* guarded() {
  static tarn::pool<block> pool;
  return pool.allocate();
}
void* reserved = (guarded(), nullptr);

// A cell that isn't zero at first.
struct counted_mutex {
  int free = 1;
  void lock() { --free; }
  void unlock() { ++free; }
};
using zeroed = tarn::static_pool<struct zeroed_tag, block, tarn::static_array_store<1000>, tarn::mutex_locking<counted_mutex>>;
void* use() { return zeroed::instance().allocate(); }

// What statics.cc must not have: a guard variable, an initialiser, a pool whose array lies in the program's file.
#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"

using block = tarn::static_size<64>;

void* guarded() {
  static tarn::pool<block> pool;
  return pool.allocate();
}
void* reserved = (guarded(), nullptr);

using zeroed = tarn::static_pool<struct zeroed_tag, block, tarn::static_array_store<1000>, tarn::batch_reuse<>>;
void* use() { return zeroed::instance().allocate(); }

#include "tarn/allocator/pool.h"

struct order {
  long number;
  double price;
};

int main() {
  tarn::pool<tarn::size_of<order>, tarn::mutex_locking<>> pool;
  pool.reserve(1000);
  void* blocks[10];
  pool.allocate_batch(blocks);
  void* const one = pool.try_allocate();
  const bool right = one != nullptr && pool.owns(one) && pool.capacity() >= 1000;
  pool.deallocate(one);
  pool.deallocate_batch(blocks);
  pool.trim();
  return right && pool.block_size() == sizeof(order) ? 0 : 1;
}

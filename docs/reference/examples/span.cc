#include <vector>

#include "tarn/allocator/pool.h"

int main() {
  tarn::pool<tarn::static_size<64>> pool;
  std::vector<void*> blocks(10);
  pool.allocate_batch(blocks);  // a span of the vector's elements
  const tarn::span<void* const> all(blocks);
  pool.deallocate_batch(all.first(4));
  pool.deallocate_batch(all.subspan(4));
  return all.size() == 10 ? 0 : 1;
}

#include "tarn/allocator/size_class_pool.h"

int main() {
  tarn::size_class_pool<> blocks;
  void* const block = blocks.allocate(100);
  const bool right = blocks.class_size(100) >= 100;
  blocks.deallocate(block, 100);
  return right ? 0 : 1;
}

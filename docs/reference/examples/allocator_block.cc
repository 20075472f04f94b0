#include "tarn/allocator/allocator_block.h"
#include "tarn/allocator/size_class_pool.h"

int main() {
  static_assert(tarn::allocator_block<tarn::heap_block>);
  tarn::buffer_block<1000> bytes;  // an array, one block behind the other
  void* const block = bytes.allocate(100, 8);
  if (!bytes.owns(block)) return 1;
  bytes.deallocate(block, 100, 8);  // the last one: all bytes are free again

  tarn::block_of<tarn::size_class_pool<>> sizes;  // a product with the members of a block
  sizes.deallocate(sizes.allocate(100, 16), 100, 16);
  return bytes.used() == 0 && sizes.good_size(100, 16) == 112 ? 0 : 1;
}

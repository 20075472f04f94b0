#include "tarn/allocator/block_reservation.h"
#include "tarn/allocator/pool.h"

int main() {
  tarn::pool<tarn::static_size<64>> pool;
  auto set_aside = pool.reserve_blocks(3);
  for (int i = 0; i < 3; ++i) {
    void* const block = set_aside.allocate();  // can't fail: three were set aside
    if (block == nullptr) return 1;
    pool.deallocate(block);
  }
  return set_aside.allocate() == nullptr ? 0 : 1;  // the fourth: null
}

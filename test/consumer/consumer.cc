// A user's program: all that it knows of tarn is the public header.

#include "tarn/allocator/pool.h"

#include <cstdio>

int main() {
  tarn::pool<tarn::static_size<64>> pool;
  void* const block = pool.allocate();
  if (block == nullptr) {
    return 1;
  }
  pool.deallocate(block);
  std::puts("consumed");
}

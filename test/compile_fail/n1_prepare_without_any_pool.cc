// expect: tarn: [N1] PREPARE_MEMORY_POOL was given a class that has no pool of its own
#include "tarn/allocator/memory_pool_macros.h"

struct Node {
  int value = 0;
#ifdef TARN_TWIN
  DECLARE_MEMORY_POOL(Node)
#endif
};

void prepare() { PREPARE_MEMORY_POOL(Node, 1024); }

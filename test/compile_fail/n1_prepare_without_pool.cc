// expect: tarn: [N1] PREPARE_MEMORY_POOL was given a class that has no pool of its own
#include "tarn/allocator/memory_pool_macros.h"

struct Node {
  virtual ~Node() = default;
  DECLARE_MEMORY_POOL(Node)
};
struct Leaf : Node {
  int value = 0;
#ifdef TARN_TWIN
  DECLARE_MEMORY_POOL(Leaf)
#endif
};

void prepare() { PREPARE_MEMORY_POOL(Leaf, 1024); }

// N: classes and the pools that macros give them.
#include "tarn/allocator/memory_pool_macros.h"

// expect: tarn: [N1] PREPARE_MEMORY_POOL was given a class that has no pool of its own
namespace n1_prepare_without_any_pool {
struct Node {
  int value = 0;
#ifdef TARN_TWIN
  DECLARE_MEMORY_POOL(Node)
#endif
};

void prepare() { PREPARE_MEMORY_POOL(Node, 1024); }
}  // namespace n1_prepare_without_any_pool

// expect: tarn: [N1] PREPARE_MEMORY_POOL was given a class that has no pool of its own
namespace n1_prepare_without_pool {
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
}  // namespace n1_prepare_without_pool

// expect: tarn: [C2] two policies were given for the axis size
// The size of a class's pool is the class's.
#include "tarn/allocator/memory_pool_macros.h"

struct Node {
  Node* next = nullptr;
#ifdef TARN_TWIN
  DECLARE_MEMORY_POOL_WITH(Node, tarn::fixed_growth<64>)
#else
  DECLARE_MEMORY_POOL_WITH(Node, tarn::static_size<64>, tarn::fixed_growth<64>)
#endif
};

void use() { delete new Node; }

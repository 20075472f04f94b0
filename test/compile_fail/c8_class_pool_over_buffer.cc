// expect: tarn: [C8] static_pool was given a policy whose object it would have to be given
#include "tarn/allocator/memory_pool_macros.h"

struct Node {
  Node* next = nullptr;
#ifdef TARN_TWIN
  DECLARE_MEMORY_POOL_WITH(Node, tarn::static_array_store<64>)
#else
  DECLARE_MEMORY_POOL_WITH(Node, tarn::buffer_store)
#endif
};

void use() { delete new Node; }

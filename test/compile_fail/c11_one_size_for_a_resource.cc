// expect: tarn: [C11] a policy of one block size was given to something that serves many sizes
#include "tarn/allocator/memory_resource.h"

#ifdef TARN_TWIN
tarn::pool_resource<tarn::geometric_classes<16, 1024>> right;
void* use() { return right.allocate(64); }
#else
tarn::pool_resource<tarn::static_size<64>> wrong;
void* use() { return wrong.allocate(64); }
#endif

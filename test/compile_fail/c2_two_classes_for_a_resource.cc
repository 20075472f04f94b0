// expect: tarn: [C2] two policies were given for the axis size
#include "tarn/allocator/memory_resource.h"

#ifdef TARN_TWIN
tarn::pool_resource<tarn::listed_classes<24, 64>> right;
void* use() { return right.allocate(64); }
#else
tarn::pool_resource<tarn::geometric_classes<>, tarn::listed_classes<24, 64>> wrong;
void* use() { return wrong.allocate(64); }
#endif

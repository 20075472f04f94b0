// expect: tarn: [C10] size classes were given to a pool whose blocks have one size
// expect: use size_class_pool<...>
#include "tarn/allocator/pool.h"
#include "tarn/allocator/size_class_pool.h"

#ifdef TARN_TWIN
tarn::size_class_pool<tarn::geometric_classes<>> right;
void use() { right.deallocate(right.allocate(100, 8), 100, 8); }
#else
tarn::pool<tarn::geometric_classes<>> wrong;
void use() { wrong.deallocate(wrong.allocate()); }
#endif

// expect: tarn: [S4] listed_classes whose sizes don't ascend, or that lists none, or a size of zero
#include "tarn/allocator/size_class_pool.h"

#ifdef TARN_TWIN
tarn::size_class_pool<tarn::listed_classes<24, 64>> right;
void use() { right.deallocate(right.allocate(40, 8), 40, 8); }
#else
tarn::size_class_pool<tarn::listed_classes<24, 24, 64>> wrong;
void use() { wrong.deallocate(wrong.allocate(40, 8), 40, 8); }
#endif

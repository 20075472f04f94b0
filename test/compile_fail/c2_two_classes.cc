// expect: tarn: [C2] two policies were given for the axis size
#include "tarn/allocator/size_class_pool.h"

#ifdef TARN_TWIN
tarn::size_class_pool<tarn::listed_classes<24, 64>> right;
void use() { right.deallocate(right.allocate(64, 8), 64, 8); }
#else
tarn::size_class_pool<tarn::geometric_classes<>, tarn::listed_classes<24, 64>> wrong;
void use() { wrong.deallocate(wrong.allocate(64, 8), 64, 8); }
#endif

// expect: tarn: [S3] geometric_classes
// expect: whose largest is no class
#include "tarn/allocator/size_class_pool.h"

#ifdef TARN_TWIN
tarn::size_class_pool<tarn::geometric_classes<32, 64>> right;
void use() { right.deallocate(right.allocate(40, 8), 40, 8); }
#else
tarn::size_class_pool<tarn::geometric_classes<64, 32>> wrong;
void use() { wrong.deallocate(wrong.allocate(40, 8), 40, 8); }
#endif

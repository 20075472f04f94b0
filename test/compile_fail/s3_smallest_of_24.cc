// expect: tarn: [S3] geometric_classes whose smallest class is no power of two from 16 up
#include "tarn/allocator/size_class_pool.h"

#ifdef TARN_TWIN
tarn::size_class_pool<tarn::geometric_classes<32, 256>> right;
void use() { right.deallocate(right.allocate(40, 8), 40, 8); }
#else
tarn::size_class_pool<tarn::geometric_classes<24, 192>> wrong;
void use() { wrong.deallocate(wrong.allocate(40, 8), 40, 8); }
#endif

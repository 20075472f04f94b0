// expect: tarn: [C11] a policy of one block size was given to something that serves many sizes
#include "tarn/allocator/size_class_pool.h"

#ifdef TARN_TWIN
tarn::size_class_pool<tarn::listed_classes<64>> right;
void use() { right.deallocate(right.allocate(64, 8), 64, 8); }
#else
tarn::size_class_pool<tarn::static_size<64>> wrong;
void use() { wrong.deallocate(wrong.allocate(64, 8), 64, 8); }
#endif

// expect: tarn: a block that nobody holds is leaked
// A warning by default; it counts as an error here.
#include "tarn/allocator/size_class_pool.h"

#pragma GCC diagnostic error "-Wunused-result"

tarn::size_class_pool<> pool;

#ifdef TARN_TWIN
void* right() { return pool.try_allocate(100); }
#else
void wrong() { pool.try_allocate(100); }
#endif

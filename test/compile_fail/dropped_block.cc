// expect: tarn: a block that nobody holds is leaked
// A warning by default; it counts as an error here.
#include "tarn/allocator/pool.h"

#pragma GCC diagnostic error "-Wunused-result"

tarn::pool<tarn::static_size<64>> pool;

#ifdef TARN_TWIN
void* right() { return pool.allocate(); }
#else
void wrong() { pool.allocate(); }
#endif

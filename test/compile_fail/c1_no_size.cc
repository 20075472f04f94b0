// expect: tarn: [C1] no policy was given for the axis size
// The rejected pool is used, too: that is no second mistake.
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::mutex_locking<>> right;
void use() { right.deallocate(right.allocate()); }
#else
tarn::pool<tarn::mutex_locking<>, tarn::fixed_growth<32>> wrong;
void use() { wrong.deallocate(wrong.allocate()); }
#endif

// expect: tarn: [E1] batch_reuse with a front that is no multiple of 64 or under 128 pointers
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::batch_reuse<tarn::prefetch::none, 128>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::batch_reuse<tarn::prefetch::none, 64>> wrong;
void use() { wrong.deallocate(wrong.allocate()); }
#endif

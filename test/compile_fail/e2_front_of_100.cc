// expect: tarn: [E2] page_local_reuse with pages that are no power of two or under 4096 bytes, or a front that is no multiple of 64
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::page_local_reuse<65536, tarn::prefetch::none, 192>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::page_local_reuse<65536, tarn::prefetch::none, 100>> wrong;
#endif

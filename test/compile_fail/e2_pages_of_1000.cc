// expect: tarn: [E2] page_local_reuse with pages that are no power of two or under 4096 bytes
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::page_local_reuse<4096>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::page_local_reuse<1000>> wrong;
#endif

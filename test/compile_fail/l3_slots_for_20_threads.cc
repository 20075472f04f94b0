// expect: tarn: [L3] thread_cached was given numbers that it has no slots or magazines for
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::thread_cached<64>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::thread_cached<20>> wrong;
#endif

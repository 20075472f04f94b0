// expect: tarn: [R10] thread_cached was combined with a store that has only one chunk
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::lock_free, tarn::static_array_store<100>> right;
tarn::pool<tarn::static_size<64>, tarn::thread_cached<>, tarn::no_growth<100>> from_the_heap;
#else
tarn::pool<tarn::static_size<64>, tarn::thread_cached<>, tarn::static_array_store<100>> wrong;
#endif

// expect: tarn: [R13] reclaim_and_retry was combined with a store that has only one chunk (static_array_store, buffer_store)
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::heap_store, tarn::reclaim_and_retry<>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::static_array_store<8>, tarn::reclaim_and_retry<>> wrong;
#endif

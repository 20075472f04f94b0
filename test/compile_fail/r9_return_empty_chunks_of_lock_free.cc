// expect: tarn: [R9] a retention policy that returns chunks was combined with a locking policy whose readers may still look
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::thread_cached<>, tarn::return_empty_chunks<>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::lock_free, tarn::return_empty_chunks<>> wrong;
#endif

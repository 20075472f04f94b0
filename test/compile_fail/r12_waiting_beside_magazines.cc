// expect: tarn: [R12] wait_for_block was combined with a locking policy under which no other thread can give a block back
#include <cstddef>

#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::mutex_locking<>, tarn::wait_for_block<>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::thread_cached<>, tarn::wait_for_block<>> wrong;
#endif

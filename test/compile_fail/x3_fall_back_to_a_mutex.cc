// expect: tarn: [X3] fall_back_to was given something that is no store, or no growth policy
#include <cstddef>

#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::fall_back_to<tarn::heap_store>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::fall_back_to<tarn::no_locking>> wrong;
#endif

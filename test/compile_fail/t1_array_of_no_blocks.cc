// expect: tarn: [T1] static_array_store<0>: an array of no blocks
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::static_array_store<1>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::static_array_store<0>> wrong;
#endif

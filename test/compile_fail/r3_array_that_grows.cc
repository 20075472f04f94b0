// expect: tarn: [R3] a growth policy of several chunks was combined with a store that has only one
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::static_array_store<8>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::static_array_store<8>, tarn::geometric_growth<>> wrong;
#endif

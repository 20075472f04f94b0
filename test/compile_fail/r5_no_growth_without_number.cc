// expect: tarn: [R5] no_growth<> without a number was combined with a store that has no end
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::no_growth<1000>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::no_growth<>> wrong;
#endif

// expect: tarn: [G1] fixed_growth<0>: chunks of no blocks
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::fixed_growth<1>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::fixed_growth<0>> wrong;
#endif

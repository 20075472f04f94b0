// expect: tarn: [G2] a growth policy with a cap of 0 blocks
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::fixed_growth<32, 100>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::fixed_growth<32, 0>> wrong;
#endif

// expect: tarn: [G3] geometric_growth with a factor under 2 doesn't grow
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::geometric_growth<8, 64, 2>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::geometric_growth<8, 64, 1>> wrong;
#endif

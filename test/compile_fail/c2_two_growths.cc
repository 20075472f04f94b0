// expect: tarn: [C2] two policies were given for the axis growth; keep one
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::fixed_growth<32>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::fixed_growth<32>, tarn::geometric_growth<>> wrong;
#endif

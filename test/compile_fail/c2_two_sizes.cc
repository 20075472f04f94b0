// expect: tarn: [C2] two policies were given for the axis size; keep one
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::size_of<double>> wrong;
#endif

// expect: tarn: [C2] two policies were given for the axis locking; keep one
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::mutex_locking<>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::mutex_locking<>, tarn::grouped_locking<struct audio>> wrong;
#endif

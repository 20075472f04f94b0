// expect: tarn: [C2] two policies were given for the axis reuse; keep one
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::lifo_reuse<>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::lifo_reuse<>, tarn::batch_reuse<>> wrong;
#endif

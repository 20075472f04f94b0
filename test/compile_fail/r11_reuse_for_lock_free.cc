// expect: tarn: [R11] lock_free was combined with a reuse policy, which would have nothing to do
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::lock_free> right;
#else
tarn::pool<tarn::static_size<64>, tarn::lock_free, tarn::batch_reuse<>> wrong;
#endif

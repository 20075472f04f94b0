// expect: tarn: [R6] batch_reuse was combined with blocks under 16 bytes
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<8>, tarn::lifo_reuse<>> right;
#else
tarn::pool<tarn::static_size<8>, tarn::batch_reuse<>> wrong;
#endif

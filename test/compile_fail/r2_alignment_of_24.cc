// expect: tarn: [R2] an alignment that is no power of two can't be met
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<48, 16>> right;
#else
tarn::pool<tarn::static_size<48, 24>> wrong;
#endif

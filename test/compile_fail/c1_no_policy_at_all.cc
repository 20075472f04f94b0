// expect: tarn: [C1] no policy was given for the axis size
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>> right;
#else
tarn::pool<> wrong;
#endif

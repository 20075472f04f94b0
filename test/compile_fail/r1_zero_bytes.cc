// expect: tarn: [R1] a block of zero bytes can't be told from the next one
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<1>> right;
#else
tarn::pool<tarn::static_size<0>> wrong;
#endif

// expect: tarn: [K1] return_empty_chunks<Low, High> with more chunks that stay than there may be
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::return_empty_chunks<1, 4>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::return_empty_chunks<4, 1>> wrong;
#endif

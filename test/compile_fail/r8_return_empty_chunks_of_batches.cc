// expect: tarn: [R8] a retention policy that returns empty chunks was combined with a reuse policy that can't see them
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::page_local_reuse<>, tarn::return_empty_chunks<>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::batch_reuse<>, tarn::return_empty_chunks<>> wrong;
#endif

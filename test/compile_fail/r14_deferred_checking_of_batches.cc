// expect: tarn: [R14] deferred_checking was combined with a reuse policy that has no bitmap to look a block up in
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::deferred_checking> right;
tarn::pool<tarn::static_size<64>, tarn::deferred_checking, tarn::page_local_reuse<4096>> right_too;
#else
tarn::pool<tarn::static_size<64>, tarn::deferred_checking, tarn::batch_reuse<>> wrong;
#endif

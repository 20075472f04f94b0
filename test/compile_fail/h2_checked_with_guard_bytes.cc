// expect: tarn: [H2] checked_with was given something that is none of its options; they are shuffled and sites
// It has guard bytes anyhow.
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::checked_with<tarn::shuffled>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::checked_with<tarn::guard_bytes>> wrong;
#endif

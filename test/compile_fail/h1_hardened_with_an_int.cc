// expect: tarn: [H1] hardened_with was given something that is none of its options; they are shuffled, guard_bytes and generations
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::hardened_with<tarn::shuffled, tarn::guard_bytes>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::hardened_with<tarn::shuffled, int>> wrong;
#endif

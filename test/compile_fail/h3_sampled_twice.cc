// expect: tarn: [H3] sampled_guard_pages with one block in 0, no slots, or something else than a checking policy
#include "tarn/allocator/pool.h"

struct then_hardened : tarn::hardened {};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::sampled_guard_pages<5000, then_hardened>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::sampled_guard_pages<5000, tarn::sampled_guard_pages<>>> wrong;
#endif

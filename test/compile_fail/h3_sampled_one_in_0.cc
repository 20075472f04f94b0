// expect: tarn: [H3] sampled_guard_pages with one block in 0, no slots, or something else than a checking policy
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::sampled_guard_pages<1>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::sampled_guard_pages<0>> wrong;
#endif

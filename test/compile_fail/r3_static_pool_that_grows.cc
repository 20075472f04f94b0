// expect: tarn: [R3] a growth policy of several chunks was combined with a store that has only one
#include "tarn/allocator/static_pool.h"

#ifdef TARN_TWIN
void* right() { return tarn::static_pool<struct orders, tarn::static_size<64>, tarn::static_array_store<8>>::instance().allocate(); }
#else
using wrong = tarn::static_pool<struct orders, tarn::static_size<64>, tarn::static_array_store<8>, tarn::fixed_growth<4>>;
void* use() { return wrong::instance().allocate(); }
#endif

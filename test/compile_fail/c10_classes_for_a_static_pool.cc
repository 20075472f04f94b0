// expect: tarn: [C10] size classes were given to a pool whose blocks have one size
#include "tarn/allocator/static_pool.h"

#ifdef TARN_TWIN
void* right() { return tarn::static_pool<struct orders, tarn::static_size<64>>::instance().allocate(); }
#else
void* wrong() { return tarn::static_pool<struct orders, tarn::listed_classes<24, 64>>::instance().allocate(); }
#endif

// expect: tarn: [C8] static_pool was given a policy whose object it would have to be given
#include "tarn/allocator/static_pool.h"

#ifdef TARN_TWIN
void* right() { return tarn::static_pool<struct orders, tarn::static_size<64>>::instance().allocate(); }
#else
void* wrong() { return tarn::static_pool<struct orders, tarn::dynamic_size>::instance().allocate(); }
#endif

// expect: tarn: [C8] static_pool was given a policy whose object it would have to be given
#include "tarn/allocator/static_pool.h"

#ifdef TARN_TWIN
using right = tarn::static_pool<struct orders, tarn::static_size<64>, tarn::static_array_store<64>>;
void use() { right::instance().deallocate(right::instance().allocate()); }
#else
using wrong = tarn::static_pool<struct orders, tarn::static_size<64>, tarn::buffer_store>;
void use() { wrong::instance().deallocate(wrong::instance().allocate()); }
#endif

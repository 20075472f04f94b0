// With a front, which finds its places by their distance from its start: it would have values otherwise, and the array with it.
#include "tarn/allocator/static_pool.h"

using pool = tarn::static_pool<struct messages, tarn::static_size<48>, tarn::static_array_store<32>,
                               tarn::batch_reuse<tarn::prefetch::none, 128>>;
void* take() { return pool::instance().try_allocate(); }
void give(void* block) { pool::instance().deallocate(block); }

// One chunk from the heap, at the first call.
#include "tarn/allocator/static_pool.h"

using pool = tarn::static_pool<struct messages, tarn::static_size<48>, tarn::heap_store, tarn::no_growth<32>,
                               tarn::lifo_reuse<>>;
void* take() { return pool::instance().try_allocate(); }
void give(void* block) { pool::instance().deallocate(block); }

// Called from interrupts, too.
#include "tarn/allocator/static_pool.h"

using pool = tarn::static_pool<struct messages, tarn::static_size<48>, tarn::static_array_store<32>, tarn::interrupt_locking<>>;
void* take() { return pool::instance().try_allocate(); }
void give(void* block) { pool::instance().deallocate(block); }

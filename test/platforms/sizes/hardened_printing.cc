// With the default handler, which prints: texts, numbers, standard error.
#include "tarn/allocator/static_pool.h"

using pool = tarn::static_pool<struct messages, tarn::static_size<48>, tarn::static_array_store<32>, tarn::hardened>;
void* take() { return pool::instance().try_allocate(); }
void give(void* block) { pool::instance().deallocate(block); }

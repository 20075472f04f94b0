// With checks of every call, and a handler of one's own.
#include "tarn/allocator/static_pool.h"

void halt(const tarn::misuse&) noexcept;
using pool = tarn::static_pool<struct messages, tarn::static_size<48>, tarn::static_array_store<32>,
                               tarn::hardened_with<tarn::reported_to<halt>>>;
void* take() { return pool::instance().try_allocate(); }
void give(void* block) { pool::instance().deallocate(block); }

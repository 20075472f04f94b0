// A pool of firmware: 32 messages in an array, no heap, no thread. Compiled for size.
#include "tarn/allocator/static_pool.h"

namespace firmware {

struct messages;
using pool = tarn::static_pool<messages, tarn::static_size<48>, tarn::static_array_store<32>>;

void* take() { return pool::instance().try_allocate(); }
void give(void* block) { pool::instance().deallocate(block); }

}  // namespace firmware

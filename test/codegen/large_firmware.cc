// The control: the same with a front, which points into itself, so that all of it lies in the program's file.
#include "tarn/allocator/static_pool.h"

namespace firmware {

struct messages;
using pool = tarn::static_pool<messages, tarn::static_size<48>, tarn::static_array_store<32>, tarn::batch_reuse<>>;

void* take() { return pool::instance().try_allocate(); }
void give(void* block) { pool::instance().deallocate(block); }

}  // namespace firmware

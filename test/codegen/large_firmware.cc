// The control: the same with a front and a handler of misuse, which has a value from the start.
#include "tarn/allocator/static_pool.h"

namespace firmware {

struct messages;
using pool = tarn::static_pool<messages, tarn::static_size<48>, tarn::static_array_store<32>, tarn::batch_reuse<>,
                               tarn::hardened>;

void* take() { return pool::instance().try_allocate(); }
void give(void* block) { pool::instance().deallocate(block); }

}  // namespace firmware

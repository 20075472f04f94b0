#include "tarn/allocator/static_pool.h"

struct shared_tag;
using shared = tarn::static_pool<shared_tag, tarn::static_size<64>, tarn::mutex_locking<>>;

void* given_by_other() { return shared::instance().allocate(); }

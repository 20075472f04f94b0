// expect: tarn: [C2] two policies were given for the axis store
// A memory resource gets its memory from the upstream that its constructor is given.
#include <memory_resource>

#include "tarn/allocator/memory_resource.h"

#ifdef TARN_TWIN
tarn::pool_resource<> right(std::pmr::new_delete_resource());
void* use() { return right.allocate(64); }
#else
tarn::pool_resource<tarn::heap_store> wrong;
void* use() { return wrong.allocate(64); }
#endif

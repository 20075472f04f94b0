// The same as an object.
#include "tarn/allocator/pool.h"

constinit tarn::pool<tarn::static_size<48>, tarn::static_array_store<32>> messages;
void* take() { return messages.try_allocate(); }
void give(void* block) { messages.deallocate(block); }

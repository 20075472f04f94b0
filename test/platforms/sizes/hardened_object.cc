// The same as an object.
#include "tarn/allocator/pool.h"

void halt(const tarn::misuse&) noexcept;
using checks = tarn::hardened_with<tarn::reported_to<halt>>;
constinit tarn::pool<tarn::static_size<48>, tarn::static_array_store<32>, checks> messages;
void* take() { return messages.try_allocate(); }
void give(void* block) { messages.deallocate(block); }

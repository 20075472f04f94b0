// Block size and memory known at run time.
#include <new>

#include "tarn/allocator/pool.h"

namespace {
using pool = tarn::pool<tarn::dynamic_size, tarn::buffer_store>;
alignas(pool) std::byte place[sizeof(pool)];
pool* messages;
}  // namespace

void make(std::size_t size, tarn::span<std::byte> memory) {
  messages = ::new (place) pool(tarn::dynamic_size(size), tarn::buffer_store(memory));
}
void* take() { return messages->try_allocate(); }
void give(void* block) { messages->deallocate(block); }

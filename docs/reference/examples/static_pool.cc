#include "tarn/allocator/static_pool.h"

using messages = tarn::static_pool<struct messages_tag, tarn::static_size<256>, tarn::mutex_locking<>>;

int main() {
  void* const block = messages::instance().allocate();
  const bool right = messages::instance().owns(block);
  messages::instance().deallocate(block);
  return right ? 0 : 1;
}

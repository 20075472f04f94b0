// With a lock of the user's: here, an RTOS's.
#include "tarn/allocator/static_pool.h"

extern "C" {
void rtos_lock(void*) noexcept;
void rtos_unlock(void*) noexcept;
}
struct rtos_mutex {
  void lock() noexcept { rtos_lock(this); }
  void unlock() noexcept { rtos_unlock(this); }
  void* handle = nullptr;
};
using pool = tarn::static_pool<struct messages, tarn::static_size<48>, tarn::static_array_store<32>,
                               tarn::mutex_locking<rtos_mutex>>;
void* take() { return pool::instance().try_allocate(); }
void give(void* block) { pool::instance().deallocate(block); }

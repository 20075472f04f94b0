// expect: tarn: [R10] thread_cached was combined with a store that has only one chunk
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
void right(std::span<std::byte> bytes) {
  tarn::pool<tarn::static_size<64>, tarn::mutex_locking<>, tarn::buffer_store> pool{tarn::buffer_store{bytes}};
}
#else
void wrong(std::span<std::byte> bytes) {
  tarn::pool<tarn::static_size<64>, tarn::thread_cached<>, tarn::buffer_store> pool{tarn::buffer_store{bytes}};
}
#endif

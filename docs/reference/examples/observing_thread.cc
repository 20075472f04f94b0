#include "tarn/allocator/observing_thread.h"
#include "tarn/allocator/pool.h"

int main() {
  tarn::pool<tarn::static_size<64>, tarn::mutex_locking<>, tarn::named<"orders">> orders;
  const tarn::observing_thread watched("/tmp/tarn_observing_thread_example.sock");
  void* const order = orders.allocate();
  // Meanwhile, in a shell: echo json | nc -U /tmp/tarn_observing_thread_example.sock
  orders.deallocate(order);
}

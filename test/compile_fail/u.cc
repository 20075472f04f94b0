// U: what a maintenance_thread can't look after.
#include "tarn/allocator/maintenance_thread.h"
#include "tarn/allocator/pool.h"

// case u1_pool_of_one_thread: tarn: [U1] maintenance_thread was given a pool that only one thread may use
RIGHT(using locking = tarn::mutex_locking<>;)
WRONG(using locking = tarn::no_locking;)
void use(tarn::maintenance_thread& thread, tarn::pool<tarn::static_size<64>, locking, tarn::grow_ahead<100>>& pool) {
  const auto place = thread.add(pool);
}

// case u2_nothing_to_maintain: tarn: [U2] maintenance_thread was given something without maintain()
RIGHT(using growth = tarn::grow_ahead<100>;)
WRONG(using growth = tarn::fixed_growth<100>;)
void use(tarn::maintenance_thread& thread, tarn::pool<tarn::static_size<64>, tarn::mutex_locking<>, growth>& pool) {
  const auto place = thread.add(pool);
}

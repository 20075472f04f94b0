#include "tarn/allocator/pool.h"

static_assert(tarn::policy<tarn::mutex_locking<>>);
static_assert(tarn::policy_on<tarn::mutex_locking<>, tarn::axis::locking>);
static_assert(!tarn::policy<int>);

int main() {
  // The first chunk as large as the policy finds natural, and no limit: what geometric_growth<> does.
  tarn::pool<tarn::static_size<64>, tarn::geometric_growth<tarn::natural, tarn::natural, 2, tarn::unlimited>> pool;
  pool.deallocate(pool.allocate());
}

// expect: tarn: [C3] an argument of pool<...> is no policy
// The first argument of static_pool is taken as the tag, and so the policy that was meant for it is missing.
#include "tarn/allocator/static_pool.h"

struct Order {
  int id;
};

#ifdef TARN_TWIN
auto& right = tarn::static_pool<struct orders, tarn::size_of<Order>>::instance();
#else
auto& wrong = tarn::static_pool<struct orders, Order>::instance();
#endif

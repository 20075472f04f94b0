// expect: tarn: [S2] size_of<T> was given a type that is only declared here
#include "tarn/allocator/pool.h"

struct Order;

#ifdef TARN_TWIN
struct Order {
  int id;
};
tarn::pool<tarn::size_of<Order>> right;
#else
tarn::pool<tarn::size_of<Order>> wrong;
#endif

// expect: tarn: [C3] an argument of pool<...> is no policy
// expect: write size_of<T> for blocks of type T
#include "tarn/allocator/pool.h"

struct Order {
  int id;
  double price;
};

#ifdef TARN_TWIN
tarn::pool<tarn::size_of<Order>> right;
#else
tarn::pool<Order> wrong;
#endif

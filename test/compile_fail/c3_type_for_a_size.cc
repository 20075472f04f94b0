// expect: tarn: [C3] an argument of pool<...> is no policy
// expect: did you mean size_of<T>
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

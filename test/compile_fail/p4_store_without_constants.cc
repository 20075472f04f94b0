// expect: tarn: [P4] this store policy lacks something that the pool uses
// Whether it is bounded is asked early, to choose the other policies by.
#include "tarn/allocator/pool.h"

struct unknown_store {
  using axis = tarn::axis::store;
  template <class Environment>
  using source = tarn::heap_store::source<Environment>;
};
struct known_store : tarn::heap_store {};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, known_store> right;
#else
tarn::pool<tarn::static_size<64>, unknown_store> wrong;
#endif

// expect: tarn: [R6] batch_reuse was combined with blocks under 16 bytes
// The size of a type that happens to be small.
#include "tarn/allocator/pool.h"

struct Tick {
  int price;
};

#ifdef TARN_TWIN
tarn::pool<tarn::size_of<Tick>, tarn::static_array_store<64>> right;
#else
tarn::pool<tarn::size_of<Tick>, tarn::static_array_store<64>, tarn::batch_reuse<>> wrong;
#endif

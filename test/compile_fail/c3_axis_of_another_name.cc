// expect: tarn: [C3] an argument of pool<...> is no policy
// A policy whose axis is none of the nine.
#include "tarn/allocator/pool.h"

struct colour {};
struct red_blocks {
  using axis = colour;
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>> right;
#else
tarn::pool<tarn::static_size<64>, red_blocks> wrong;
#endif

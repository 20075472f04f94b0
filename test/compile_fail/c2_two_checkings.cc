// expect: tarn: [C2] two policies were given for the axis checking; keep one
#include "tarn/allocator/pool.h"

struct careful : tarn::no_checking {};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::no_checking> right;
#else
tarn::pool<tarn::static_size<64>, tarn::no_checking, careful> wrong;
#endif

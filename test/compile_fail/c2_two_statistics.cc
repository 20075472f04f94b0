// expect: tarn: [C2] two policies were given for the axis statistics; keep one
#include "tarn/allocator/pool.h"

struct counting : tarn::no_statistics {};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::no_statistics> right;
#else
tarn::pool<tarn::static_size<64>, tarn::no_statistics, counting> wrong;
#endif

// expect: tarn: [C2] two policies were given for the axis retention; keep one
// The same policy twice is two, also where it is the default.
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::keep_chunks> right;
#else
tarn::pool<tarn::static_size<64>, tarn::keep_chunks, tarn::keep_chunks> wrong;
#endif

// expect: tarn: [C2] two policies were given for the axis store; keep one
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::page_store<>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::page_store<>, tarn::heap_store> wrong;
#endif

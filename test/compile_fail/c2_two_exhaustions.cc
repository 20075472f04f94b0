// expect: tarn: [C2] two policies were given for the axis exhaustion; keep one
#include "tarn/allocator/pool.h"

struct patient : tarn::report_exhaustion {};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::report_exhaustion> right;
#else
tarn::pool<tarn::static_size<64>, tarn::report_exhaustion, patient> wrong;
#endif

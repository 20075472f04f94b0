// expect: tarn: [G4] geometric_growth whose first chunk is larger than its largest
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::geometric_growth<64, 4096>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::geometric_growth<4096, 64>> wrong;
#endif

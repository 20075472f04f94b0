// K: parameters of retention policies.
#include "tarn/allocator/pool.h"

// case k1_low_above_high: tarn: [K1] return_empty_chunks<Low, High> was given a Low that is greater than High
RIGHT(tarn::pool<tarn::static_size<64>, tarn::return_empty_chunks<1, 4>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::return_empty_chunks<4, 1>> wrong;)

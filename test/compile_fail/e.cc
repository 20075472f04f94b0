// E: parameters of reuse policies.
#include "tarn/allocator/pool.h"

// case e1_front_of_100
// expect: tarn: [E1] batch_reuse was given a front (its array of free blocks) that isn't a multiple of 64 or is under 128
RIGHT(tarn::pool<tarn::static_size<64>, tarn::batch_reuse<tarn::prefetch::none, 192>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::batch_reuse<tarn::prefetch::none, 200>> wrong;)

// case e2_pages_of_1000
// expect: tarn: [E2] page_local_reuse was given pages that aren't a power of two or are under 4096 bytes, or a front (its array
RIGHT(tarn::pool<tarn::static_size<64>, tarn::page_local_reuse<4096>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::page_local_reuse<1000>> wrong;)

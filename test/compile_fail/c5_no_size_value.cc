// expect: tarn: [C5] a policy of this pool has no default value (dynamic_size
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::dynamic_size> right{tarn::dynamic_size{48}};
#else
tarn::pool<tarn::dynamic_size> wrong;
#endif

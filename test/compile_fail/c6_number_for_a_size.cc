// expect: tarn: [C6] the constructor was given an object that is no policy of this pool
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::dynamic_size> right{tarn::dynamic_size{48, 16}};
#else
tarn::pool<tarn::dynamic_size> wrong{48, 16};
#endif

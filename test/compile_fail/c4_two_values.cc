// expect: tarn: [C4] the constructor was given two objects of one policy; keep one
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::dynamic_size> right{tarn::dynamic_size{48}};
#else
tarn::pool<tarn::dynamic_size> wrong{tarn::dynamic_size{48}, tarn::dynamic_size{64}};
#endif

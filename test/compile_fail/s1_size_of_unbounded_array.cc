// expect: tarn: [S1] size_of<T> was given a reference, a function, void or an array without a bound
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::size_of<int[16]>> right;
#else
tarn::pool<tarn::size_of<int[]>> wrong;
#endif

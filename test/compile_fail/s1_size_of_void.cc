// expect: tarn: [S1] size_of<T> was given a reference, a function, void or an array without a bound
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::size_of<void*>> right;
#else
tarn::pool<tarn::size_of<void>> wrong;
#endif

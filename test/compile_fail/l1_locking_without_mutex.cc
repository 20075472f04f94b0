// expect: tarn: [L1] mutex_locking was given a type without lock() and unlock()
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::mutex_locking<>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::mutex_locking<int>> wrong;
void use() { wrong.deallocate(wrong.allocate()); }
#endif

// expect: tarn: [C3] an argument of pool<...> is no policy
#include <mutex>

#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::mutex_locking<std::mutex>> right;
#else
tarn::pool<tarn::static_size<64>, std::mutex> wrong;
#endif

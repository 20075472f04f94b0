// expect: tarn: [R7] the block, or the first chunk of them, is larger than an address space
#include <cstddef>

#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::static_array_store<1024>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::static_array_store<(std::size_t{1} << 58)>> wrong;
#endif

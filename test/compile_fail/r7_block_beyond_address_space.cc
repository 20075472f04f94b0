// expect: tarn: [R7] the block, or the first chunk of them, is larger than an address space
#include <cstddef>

#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<(std::size_t{1} << 30)>> right;
#else
tarn::pool<tarn::static_size<static_cast<std::size_t>(-1), 1>> wrong;
#endif

// expect: tarn: [R7] the block, or the first chunk of them, is larger than an address space
// The product of the two numbers doesn't fit.
#include <cstddef>

#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::fixed_growth<(1u << 20)>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::fixed_growth<(std::size_t{1} << 60)>> wrong;
#endif

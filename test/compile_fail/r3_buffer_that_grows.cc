// expect: tarn: [R3] a growth policy of several chunks was combined with a store that has only one
// The policy objects that were given with it are no second mistake.
#include <cstddef>

#include "tarn/allocator/pool.h"

std::byte bytes[4096];

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::buffer_store, tarn::no_growth<16>> right{tarn::buffer_store{bytes}};
#else
tarn::pool<tarn::static_size<64>, tarn::buffer_store, tarn::fixed_growth<16>> wrong{tarn::buffer_store{bytes}};
#endif

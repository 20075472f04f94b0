// expect: tarn: [R4] dynamic_size was combined with static_array_store
#include <cstddef>

#include "tarn/allocator/pool.h"

std::byte bytes[4096];

#ifdef TARN_TWIN
tarn::pool<tarn::dynamic_size, tarn::buffer_store> right{tarn::dynamic_size{48}, tarn::buffer_store{bytes}};
#else
tarn::pool<tarn::dynamic_size, tarn::static_array_store<8>> wrong{tarn::dynamic_size{48}};
#endif

// expect: tarn: [C5] a policy of this pool has no default value
#include <cstddef>

#include "tarn/allocator/pool.h"

std::byte bytes[4096];

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::buffer_store> right{tarn::buffer_store{bytes}};
#else
tarn::pool<tarn::static_size<64>, tarn::buffer_store> wrong;
#endif

// expect: tarn: [C6] the constructor was given an object that is no policy of this pool
// The store that the pool has is heap_store.
#include <cstddef>

#include "tarn/allocator/pool.h"

std::byte bytes[4096];

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::buffer_store> right{tarn::buffer_store{bytes}};
#else
tarn::pool<tarn::static_size<64>> wrong{tarn::buffer_store{bytes}};
#endif

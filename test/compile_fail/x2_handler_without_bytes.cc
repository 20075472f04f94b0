// expect: tarn: [X2] retry_with was given a handler that can't be copied, or not be called with a number of bytes
#include <cstddef>

#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::retry_with<bool (*)(std::size_t)>> right{tarn::retry_with<bool (*)(std::size_t)>(nullptr)};
#else
tarn::pool<tarn::static_size<64>, tarn::retry_with<bool (*)()>> wrong{tarn::retry_with<bool (*)()>(nullptr)};
#endif

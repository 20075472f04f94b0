// expect: tarn: [C3] an argument of pool<...> is no policy
#include <type_traits>

#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>> right;
#else
tarn::pool<std::integral_constant<int, 64>> wrong;
#endif

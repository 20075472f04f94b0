// expect: verify
// mentions: can_verify
// Nothing is written around blocks or into free ones, so there is nothing to look at: the notes name the constant `can_verify`.
#include <cstddef>

#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::checked> right;
std::size_t use() { return right.verify(); }
#else
tarn::pool<tarn::static_size<64>> wrong;
std::size_t use() { return wrong.verify(); }
#endif

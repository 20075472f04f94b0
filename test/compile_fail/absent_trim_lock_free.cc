// expect: trim
// mentions: may_return_chunks
// A thread that takes a block may still look into a chunk that another gives back.
#include "tarn/allocator/pool.h"

#ifdef TARN_TWIN
void use(tarn::pool<tarn::static_size<64>, tarn::thread_cached<>>& right) { right.trim(); }
#else
void use(tarn::pool<tarn::static_size<64>, tarn::lock_free>& wrong) { wrong.trim(); }
#endif

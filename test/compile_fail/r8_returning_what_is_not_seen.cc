// expect: tarn: [R8] a retention policy that returns empty chunks was combined with a reuse policy that can't see them
#include "tarn/allocator/pool.h"

struct eager : tarn::keep_chunks {
  static constexpr bool returns_chunks = true;
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, eager, tarn::page_local_reuse<>> right;
#else
tarn::pool<tarn::static_size<64>, eager, tarn::lifo_reuse<>> wrong;
#endif

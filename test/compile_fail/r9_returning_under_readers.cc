// expect: tarn: [R9] a retention policy that returns chunks was combined with a locking policy whose readers may still look
#include "tarn/allocator/pool.h"

struct eager : tarn::keep_chunks {
  static constexpr bool returns_chunks = true;
};
struct unlocked_readers : tarn::no_locking {
  static constexpr bool may_return_chunks = false;
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, eager, tarn::page_local_reuse<>, tarn::mutex_locking<>> right;
tarn::pool<tarn::static_size<64>, tarn::page_local_reuse<>, unlocked_readers> keeping;
#else
tarn::pool<tarn::static_size<64>, eager, tarn::page_local_reuse<>, unlocked_readers> wrong;
#endif

// expect: trim
// mentions: may_return_chunks
// Chunks can't go back while a reader may look into them: the notes name the constant `may_return_chunks`.
#include "tarn/allocator/pool.h"

struct unlocked_readers : tarn::no_locking {
  static constexpr bool may_return_chunks = false;
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>> right;
void use() { right.trim(); }
#else
tarn::pool<tarn::static_size<64>, unlocked_readers> wrong;
void use() { wrong.trim(); }
#endif

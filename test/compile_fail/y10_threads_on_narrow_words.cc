// lock_free as it is where no more than 32 bits can be exchanged at once; a file of its own, since in y.cc there are no
// threads.
// expect: tarn: [Y10] lock_free was used, but this target has threads and only a 32-bit compare-and-swap, whose 16-bit tag may
#include "tarn/allocator/pool.h"

RIGHT(tarn::pool<tarn::static_size<64>, tarn::mutex_locking<>, tarn::no_growth<100>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::detail::stack_locking<std::uint32_t>, tarn::no_growth<100>> wrong;)

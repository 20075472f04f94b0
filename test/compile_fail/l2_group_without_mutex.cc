// expect: tarn: [L2] grouped_locking was given a type without lock() and unlock() as its mutex
// Two groups, by mistake: the second argument is the mutex.
#include <mutex>

#include "tarn/allocator/pool.h"

struct audio {};
struct video {};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::grouped_locking<audio, std::mutex>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::grouped_locking<audio, video>> wrong;
void use() { wrong.deallocate(wrong.allocate()); }
#endif

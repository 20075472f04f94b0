// L: parameters of locking policies.
#include <mutex>

#include "tarn/allocator/pool.h"

// case l1_locking_without_mutex: tarn: [L1] mutex_locking was given a type without lock() and unlock()
RIGHT(tarn::pool<tarn::static_size<64>, tarn::mutex_locking<>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::mutex_locking<int>> wrong; void use() { wrong.deallocate(wrong.allocate()); })

// case l2_group_without_mutex: tarn: [L2] grouped_locking was given a type without lock() and unlock() as its mutex
// Two groups, by mistake: the second argument is the mutex.
struct audio {};
struct video {};

RIGHT(tarn::pool<tarn::static_size<64>, tarn::grouped_locking<audio, std::mutex>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::grouped_locking<audio, video>> wrong;
      void use() { wrong.deallocate(wrong.allocate()); })

// case l3_magazines_of_500: tarn: [L3] thread_cached was given a number of threads or blocks that it doesn't support
RIGHT(tarn::pool<tarn::static_size<64>, tarn::thread_cached<16, 62>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::thread_cached<16, 500>> wrong;)

// case l4_nobody_knows_this_system
// expect: tarn: [L4] interrupt_locking was given a type that can't mask interrupts, or none, and tarn has none for this target
struct mask {
  static int save_and_mask() noexcept { return 0; }
  static void restore(int) noexcept {}
};
RIGHT(tarn::pool<tarn::static_size<64>, tarn::interrupt_locking<mask>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::interrupt_locking<>> wrong;)

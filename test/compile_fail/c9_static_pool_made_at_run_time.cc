// expect: tarn: [C9] static_pool was given a policy or mutex whose constructor would run when the program starts
#include "tarn/allocator/static_pool.h"

class spin_mutex {
 public:
  spin_mutex() { unlock(); }
  void lock() noexcept {}
  void unlock() noexcept { locked_ = false; }

 private:
  volatile bool locked_;
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::mutex_locking<spin_mutex>> right;
#else
using wrong = tarn::static_pool<struct orders, tarn::static_size<64>, tarn::mutex_locking<spin_mutex>>;
void* use() { return wrong::instance().allocate(); }
#endif

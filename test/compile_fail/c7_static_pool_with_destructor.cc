// expect: tarn: [C7] static_pool was given a policy whose destructor would run at exit
#include "tarn/allocator/static_pool.h"

class registered_mutex {
 public:
  constexpr registered_mutex() noexcept = default;
  ~registered_mutex() { locked_ = false; }
  void lock() noexcept { locked_ = true; }
  void unlock() noexcept { locked_ = false; }

 private:
  bool locked_ = false;
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::mutex_locking<registered_mutex>> right;
void* use() { return tarn::static_pool<struct orders, tarn::static_size<64>, tarn::mutex_locking<>>::instance().allocate(); }
#else
using wrong = tarn::static_pool<struct orders, tarn::static_size<64>, tarn::mutex_locking<registered_mutex>>;
void* use() { return wrong::instance().allocate(); }
#endif

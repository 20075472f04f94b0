// expect: tarn: [L1] mutex_locking was given a type without lock() and unlock(), or without a default constructor
#include "tarn/allocator/pool.h"

struct named_mutex {
  explicit named_mutex(const char*) {}
  void lock() {}
  void unlock() {}
};
struct unnamed_mutex : named_mutex {
  unnamed_mutex() : named_mutex("pool") {}
};

#ifdef TARN_TWIN
tarn::pool<tarn::static_size<64>, tarn::mutex_locking<unnamed_mutex>> right;
#else
tarn::pool<tarn::static_size<64>, tarn::mutex_locking<named_mutex>> wrong;
#endif

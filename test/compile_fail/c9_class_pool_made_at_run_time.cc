// expect: tarn: [C9] static_pool was given a policy or mutex whose constructor would run when the program starts
#include "tarn/allocator/memory_pool_macros.h"

class spin_mutex {
 public:
  spin_mutex() { unlock(); }
  void lock() noexcept {}
  void unlock() noexcept { locked_ = false; }

 private:
  volatile bool locked_;
};

struct Node {
  Node* next = nullptr;
#ifdef TARN_TWIN
  DECLARE_MEMORY_POOL_WITH(Node, tarn::mutex_locking<>)
#else
  DECLARE_MEMORY_POOL_WITH(Node, tarn::mutex_locking<spin_mutex>)
#endif
};

void use() { delete new Node; }

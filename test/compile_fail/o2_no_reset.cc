// expect: tarn: [O2] recycling_pool was given a type without reset()
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/recycling_pool.h"

struct Plain {
  int used = 0;
};
struct Grid : Plain {
  void reset() { used = 0; }
};

#ifdef TARN_TWIN
tarn::recycling_pool<Grid> right;
void use() { right.release(right.acquire()); }
tarn::object_pool<Plain> right_too;
#else
tarn::recycling_pool<Plain> wrong;
void use() { wrong.release(wrong.acquire()); }
#endif

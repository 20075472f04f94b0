// expect: tarn: [O5] object_pool was given a type whose destructor may throw
#include "tarn/allocator/object_pool.h"

struct loud {
  ~loud() noexcept(false) {}
};
struct quiet {
  ~quiet() {}
};

#ifdef TARN_TWIN
tarn::object_pool<quiet> right;
void use() { right.destroy(right.construct()); }
#else
tarn::object_pool<loud> wrong;
void use() { wrong.destroy(wrong.construct()); }
#endif

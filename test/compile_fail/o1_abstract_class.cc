// expect: tarn: [O1] object_pool was given an array, a reference, a function, void or an abstract class
#include "tarn/allocator/object_pool.h"

struct shape {
  virtual ~shape() = default;
  virtual double area() const = 0;
};
struct square final : shape {
  double area() const override { return 1; }
};

#ifdef TARN_TWIN
tarn::object_pool<square> right;
void use() { right.destroy(right.construct()); }
#else
tarn::object_pool<shape> wrong;
void use() { wrong.destroy(wrong.construct()); }
#endif

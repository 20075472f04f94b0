// expect: tarn: [O1] object_pool was given an array, a reference, a function, void or an abstract class
#include "tarn/allocator/object_pool.h"

#ifdef TARN_TWIN
tarn::object_pool<int> right;
void use() { right.destroy(right.construct()); }
#else
tarn::object_pool<int&> wrong;
void use() { wrong.destroy(wrong.construct()); }
#endif

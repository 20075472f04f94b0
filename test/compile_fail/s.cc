// S: parameters of size policies.
#include "tarn/allocator/pool.h"
#include "tarn/allocator/size_class_pool.h"

// case s1_size_of_reference: tarn: [S1] size_of<T> was given a reference, a function, void or an array without a bound
RIGHT(tarn::pool<tarn::size_of<int*>> right;)
WRONG(tarn::pool<tarn::size_of<int&>> wrong;)

// case s2_size_of_incomplete: tarn: [S2] size_of<T> was given a type that is only declared here
struct Order;

#ifdef TARN_TWIN
struct Order {
  int id;
};
tarn::pool<tarn::size_of<Order>> right;
#else
tarn::pool<tarn::size_of<Order>> wrong;
#endif

// case s3_largest_is_no_class: tarn: [S3] geometric_classes
// expect: or a largest that isn't a class
RIGHT(tarn::size_class_pool<tarn::geometric_classes<16, 1024>> right;
      void use() { right.deallocate(right.allocate(40, 8), 40, 8); })
WRONG(tarn::size_class_pool<tarn::geometric_classes<16, 1000>> wrong;
      void use() { wrong.deallocate(wrong.allocate(40, 8), 40, 8); })

// case s4_listed_twice: tarn: [S4] listed_classes was given no sizes, a size of zero, or sizes that don't ascend
RIGHT(tarn::size_class_pool<tarn::listed_classes<24, 64>> right; void use() { right.deallocate(right.allocate(40, 8), 40, 8); })
WRONG(tarn::size_class_pool<tarn::listed_classes<24, 24, 64>> wrong;
      void use() { wrong.deallocate(wrong.allocate(40, 8), 40, 8); })

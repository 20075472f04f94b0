// S: parameters of size policies.
#include "tarn/allocator/pool.h"
#include "tarn/allocator/size_class_pool.h"

// expect: tarn: [S1] size_of<T> was given a reference, a function, void or an array without a bound
namespace s1_size_of_reference {
RIGHT(tarn::pool<tarn::size_of<int*>> right;)
WRONG(tarn::pool<tarn::size_of<int&>> wrong;)
}  // namespace s1_size_of_reference

// expect: tarn: [S1] size_of<T> was given a reference, a function, void or an array without a bound
namespace s1_size_of_unbounded_array {
RIGHT(tarn::pool<tarn::size_of<int[16]>> right;)
WRONG(tarn::pool<tarn::size_of<int[]>> wrong;)
}  // namespace s1_size_of_unbounded_array

// expect: tarn: [S1] size_of<T> was given a reference, a function, void or an array without a bound
namespace s1_size_of_void {
RIGHT(tarn::pool<tarn::size_of<void*>> right;)
WRONG(tarn::pool<tarn::size_of<void>> wrong;)
}  // namespace s1_size_of_void

// expect: tarn: [S2] size_of<T> was given a type that is only declared here
namespace s2_size_of_incomplete {
struct Order;

#ifdef TARN_TWIN
struct Order {
  int id;
};
tarn::pool<tarn::size_of<Order>> right;
#else
tarn::pool<tarn::size_of<Order>> wrong;
#endif
}  // namespace s2_size_of_incomplete

// expect: tarn: [S3] geometric_classes
// expect: whose largest is no class
namespace s3_largest_below_smallest {
RIGHT(tarn::size_class_pool<tarn::geometric_classes<32, 64>> right;
      void use() { right.deallocate(right.allocate(40, 8), 40, 8); })
WRONG(tarn::size_class_pool<tarn::geometric_classes<64, 32>> wrong;
      void use() { wrong.deallocate(wrong.allocate(40, 8), 40, 8); })
}  // namespace s3_largest_below_smallest

// expect: tarn: [S3] geometric_classes
// expect: whose largest is no class
namespace s3_largest_is_no_class {
RIGHT(tarn::size_class_pool<tarn::geometric_classes<16, 1024>> right;
      void use() { right.deallocate(right.allocate(40, 8), 40, 8); })
WRONG(tarn::size_class_pool<tarn::geometric_classes<16, 1000>> wrong;
      void use() { wrong.deallocate(wrong.allocate(40, 8), 40, 8); })
}  // namespace s3_largest_is_no_class

// expect: tarn: [S3] geometric_classes whose smallest class is no power of two from 16 up
namespace s3_smallest_of_8 {
RIGHT(tarn::size_class_pool<tarn::geometric_classes<16, 64>> right;
      void use() { right.deallocate(right.allocate(40, 8), 40, 8); })
WRONG(tarn::size_class_pool<tarn::geometric_classes<8, 64>> wrong;
      void use() { wrong.deallocate(wrong.allocate(40, 8), 40, 8); })
}  // namespace s3_smallest_of_8

// expect: tarn: [S3] geometric_classes whose smallest class is no power of two from 16 up
namespace s3_smallest_of_24 {
RIGHT(tarn::size_class_pool<tarn::geometric_classes<32, 256>> right;
      void use() { right.deallocate(right.allocate(40, 8), 40, 8); })
WRONG(tarn::size_class_pool<tarn::geometric_classes<24, 192>> wrong;
      void use() { wrong.deallocate(wrong.allocate(40, 8), 40, 8); })
}  // namespace s3_smallest_of_24

// expect: tarn: [S4] listed_classes whose sizes don't ascend, or that lists none, or a size of zero
namespace s4_descending {
RIGHT(tarn::size_class_pool<tarn::listed_classes<24, 64>> right; void use() { right.deallocate(right.allocate(40, 8), 40, 8); })
WRONG(tarn::size_class_pool<tarn::listed_classes<64, 24>> wrong; void use() { wrong.deallocate(wrong.allocate(40, 8), 40, 8); })
}  // namespace s4_descending

// expect: tarn: [S4] listed_classes whose sizes don't ascend, or that lists none, or a size of zero
namespace s4_listed_twice {
RIGHT(tarn::size_class_pool<tarn::listed_classes<24, 64>> right; void use() { right.deallocate(right.allocate(40, 8), 40, 8); })
WRONG(tarn::size_class_pool<tarn::listed_classes<24, 24, 64>> wrong;
      void use() { wrong.deallocate(wrong.allocate(40, 8), 40, 8); })
}  // namespace s4_listed_twice

// expect: tarn: [S4] listed_classes whose sizes don't ascend, or that lists none, or a size of zero
namespace s4_no_class {
RIGHT(tarn::size_class_pool<tarn::listed_classes<24, 64>> right; void use() { right.deallocate(right.allocate(40, 8), 40, 8); })
WRONG(tarn::size_class_pool<tarn::listed_classes<>> wrong; void use() { wrong.deallocate(wrong.allocate(40, 8), 40, 8); })
}  // namespace s4_no_class

// expect: tarn: [S4] listed_classes whose sizes don't ascend, or that lists none, or a size of zero
namespace s4_zero {
RIGHT(tarn::size_class_pool<tarn::listed_classes<24, 64>> right; void use() { right.deallocate(right.allocate(40, 8), 40, 8); })
WRONG(tarn::size_class_pool<tarn::listed_classes<0, 24, 64>> wrong;
      void use() { wrong.deallocate(wrong.allocate(40, 8), 40, 8); })
}  // namespace s4_zero

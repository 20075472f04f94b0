// Types whose header is missing. Policies are declared where all policies are, and defined where their parts of the standard
// library are included.
#include <list>

#include "tarn/allocator/pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/stl_allocator.h"

// expect: tarn: [I2] resource_store needs <memory_resource>
namespace i2_resource_store {
RIGHT(tarn::pool<tarn::static_size<64>, tarn::heap_store> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::resource_store> wrong; void use() { wrong.deallocate(wrong.allocate()); })
}  // namespace i2_resource_store

// expect: tarn: [I2] resource_store needs <memory_resource>
namespace i2_resource_store_for_many_sizes {
RIGHT(tarn::size_class_pool<> right;)
WRONG(tarn::size_class_pool<tarn::resource_store> wrong; void use() { wrong.deallocate(wrong.allocate(8), 8); })
}  // namespace i2_resource_store_for_many_sizes

// expect: tarn: [I2] resource_store needs <memory_resource>
namespace i2_resource_store_to_fall_back_to {
RIGHT(tarn::pool<tarn::static_size<64>, tarn::fall_back_to<tarn::heap_store>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::fall_back_to<tarn::resource_store>> wrong;
      void use() { wrong.deallocate(wrong.allocate()); })
}  // namespace i2_resource_store_to_fall_back_to

// expect: tarn: [I2] resource_store needs <memory_resource>
namespace i2_resource_store_in_a_budget {
constinit tarn::memory_budget budget(1000);
RIGHT(tarn::pool<tarn::static_size<64>, tarn::budgeted<tarn::heap_store, &budget>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::budgeted<tarn::resource_store, &budget>> wrong;
      void use() { wrong.deallocate(wrong.allocate()); })
}  // namespace i2_resource_store_in_a_budget

// expect: tarn: [I5] switchable_checking has its own header, which no pool includes
namespace i5_switchable_checking_without_its_header {
RIGHT(tarn::size_class_pool<tarn::hardened, tarn::named<"i5">> right;)
WRONG(tarn::size_class_pool<tarn::switchable_checking, tarn::named<"i5">> wrong;
      void use() { wrong.deallocate(wrong.allocate(10), 10); })
}  // namespace i5_switchable_checking_without_its_header

// expect: tarn: [I1] an argument of pool<...> is only declared
namespace i1_policy_of_ones_own {
#ifdef TARN_TWIN
struct ones_own : tarn::heap_store {};
tarn::pool<tarn::static_size<64>, ones_own> right;
#else
struct ones_own;
tarn::pool<tarn::static_size<64>, ones_own> wrong;
void use() { wrong.deallocate(wrong.allocate()); }
#endif
}  // namespace i1_policy_of_ones_own

// expect: tarn: [I3] the source that stl_allocator takes memory from is only declared, or isn't a source
namespace i3_source_without_its_header {
RIGHT(using arena = tarn::size_class_pool<>;)
WRONG(class arena;)
void use(arena& memory) {
  std::list<int, tarn::stl_allocator<int, arena>> numbers(memory);
  numbers.push_back(1);
}
}  // namespace i3_source_without_its_header

// expect: tarn: [I3] the source that stl_allocator takes memory from is only declared, or isn't a source
// Nothing is taken here, but given back.
namespace i3_source_without_its_header_at_the_end {
RIGHT(using arena = tarn::size_class_pool<>;)
WRONG(class arena;)
struct world {
  ~world() {}
  std::list<int, tarn::stl_allocator<int, arena>> numbers;
};
}  // namespace i3_source_without_its_header_at_the_end

// expect: tarn: [I4] reserve_blocks() needs tarn/allocator/block_reservation.h
namespace i4_reservation_without_its_header {
tarn::pool<tarn::static_size<64>> blocks;
#ifdef TARN_TWIN
void use() { blocks.reserve(100); }
#else
void use() {
  auto r = blocks.reserve_blocks(100);
  blocks.deallocate(r.allocate());
}
#endif
}  // namespace i4_reservation_without_its_header

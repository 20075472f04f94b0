// Types whose header is missing. Policies are declared where all policies are, and defined where their parts of the standard
// library are included.
#include <list>

#include "tarn/allocator/pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/stl_allocator.h"

// case i2_resource_store: tarn: [I2] resource_store needs <memory_resource>
RIGHT(tarn::pool<tarn::static_size<64>, tarn::heap_store> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::resource_store> wrong; void use() { wrong.deallocate(wrong.allocate()); })

// case i2_resource_store_for_many_sizes: tarn: [I2] resource_store needs <memory_resource>
RIGHT(tarn::size_class_pool<> right;)
WRONG(tarn::size_class_pool<tarn::resource_store> wrong; void use() { wrong.deallocate(wrong.allocate(8), 8); })

// case i2_resource_store_to_fall_back_to: tarn: [I2] resource_store needs <memory_resource>
RIGHT(tarn::pool<tarn::static_size<64>, tarn::fall_back_to<tarn::heap_store>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::fall_back_to<tarn::resource_store>> wrong;
      void use() { wrong.deallocate(wrong.allocate()); })

// case i2_resource_store_in_a_budget: tarn: [I2] resource_store needs <memory_resource>
constinit tarn::memory_budget budget(1000);
RIGHT(tarn::pool<tarn::static_size<64>, tarn::budgeted<tarn::heap_store, &budget>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::budgeted<tarn::resource_store, &budget>> wrong;
      void use() { wrong.deallocate(wrong.allocate()); })

// case i5_switchable_checking_without_its_header: tarn: [I5] switchable_checking has its own header, which no pool includes
RIGHT(tarn::size_class_pool<tarn::hardened, tarn::named<"i5">> right;)
WRONG(tarn::size_class_pool<tarn::switchable_checking, tarn::named<"i5">> wrong;
      void use() { wrong.deallocate(wrong.allocate(10), 10); })

// case i1_policy_of_ones_own: tarn: [I1] an argument of pool<...> is only declared
#ifdef TARN_TWIN
struct ones_own : tarn::heap_store {};
tarn::pool<tarn::static_size<64>, ones_own> right;
#else
struct ones_own;
tarn::pool<tarn::static_size<64>, ones_own> wrong;
void use() { wrong.deallocate(wrong.allocate()); }
#endif

// case i3_source_without_its_header
// expect: tarn: [I3] the source that stl_allocator takes memory from is only declared, or isn't a source
RIGHT(using arena = tarn::size_class_pool<>;)
WRONG(class arena;)
void use(arena& memory) {
  std::list<int, tarn::stl_allocator<int, arena>> numbers(memory);
  numbers.push_back(1);
}

// case i3_source_without_its_header_at_the_end
// expect: tarn: [I3] the source that stl_allocator takes memory from is only declared, or isn't a source
// Nothing is taken here, but given back.
RIGHT(using arena = tarn::size_class_pool<>;)
WRONG(class arena;)
struct world {
  ~world() {}
  std::list<int, tarn::stl_allocator<int, arena>> numbers;
};

// case i4_reservation_without_its_header: tarn: [I4] reserve_blocks() needs tarn/allocator/block_reservation.h
tarn::pool<tarn::static_size<64>> blocks;
#ifdef TARN_TWIN
void use() { blocks.reserve(100); }
#else
void use() {
  auto r = blocks.reserve_blocks(100);
  blocks.deallocate(r.allocate());
}
#endif

// C: which policies a pool is given.
#include <cstddef>
#include <list>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <vector>

#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/multipool.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/recycling_pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/policies/name.h"
#include "tarn/policies/store/resource_store.h"

// For several cases: a mutex whose constructor runs when the program starts, and a class.
class spin_mutex {
 public:
  spin_mutex() { unlock(); }
  void lock() noexcept {}
  void unlock() noexcept { locked_ = false; }

 private:
  volatile bool locked_;
};

struct Order {
  int id;
};

// case c1_no_policy_at_all: tarn: [C1] no policy was given for the axis size
RIGHT(tarn::pool<tarn::static_size<64>> right;)
WRONG(tarn::pool<> wrong;)

// case c1_no_size: tarn: [C1] no policy was given for the axis size
// The rejected pool is used, too: that is no second mistake.
RIGHT(tarn::pool<tarn::static_size<64>, tarn::mutex_locking<>> right; void use() { right.deallocate(right.allocate()); })
WRONG(tarn::pool<tarn::mutex_locking<>, tarn::fixed_growth<32>> wrong; void use() { wrong.deallocate(wrong.allocate()); })

// case c2_two_checkings: tarn: [C2] two policies were given for the axis checking; keep one
struct careful : tarn::no_checking {};

RIGHT(tarn::pool<tarn::static_size<64>, tarn::no_checking> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::no_checking, careful> wrong;)

// case c2_two_classes: tarn: [C2] two policies were given for the axis size
RIGHT(tarn::size_class_pool<tarn::listed_classes<24, 64>> right; void use() { right.deallocate(right.allocate(64, 8), 64, 8); })
WRONG(tarn::size_class_pool<tarn::geometric_classes<>, tarn::listed_classes<24, 64>> wrong;
      void use() { wrong.deallocate(wrong.allocate(64, 8), 64, 8); })

// case c2_two_exhaustions: tarn: [C2] two policies were given for the axis exhaustion; keep one
struct patient : tarn::report_exhaustion {};

RIGHT(tarn::pool<tarn::static_size<64>, tarn::report_exhaustion> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::report_exhaustion, patient> wrong;)

// case c2_two_growths: tarn: [C2] two policies were given for the axis growth; keep one
RIGHT(tarn::pool<tarn::static_size<64>, tarn::fixed_growth<32>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::fixed_growth<32>, tarn::geometric_growth<>> wrong;)

// case c2_two_lockings: tarn: [C2] two policies were given for the axis locking; keep one
RIGHT(tarn::pool<tarn::static_size<64>, tarn::mutex_locking<>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::mutex_locking<>, tarn::grouped_locking<struct audio>> wrong;)

// case c2_two_retentions: tarn: [C2] two policies were given for the axis retention; keep one
// The same policy twice is two, also where it is the default.
RIGHT(tarn::pool<tarn::static_size<64>, tarn::keep_chunks> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::keep_chunks, tarn::keep_chunks> wrong;)

// case c2_two_reuses: tarn: [C2] two policies were given for the axis reuse; keep one
RIGHT(tarn::pool<tarn::static_size<64>, tarn::lifo_reuse<>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::lifo_reuse<>, tarn::batch_reuse<>> wrong;)

// case c2_two_sizes: tarn: [C2] two policies were given for the axis size; keep one
RIGHT(tarn::pool<tarn::static_size<64>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::size_of<double>> wrong;)

// case c2_two_statistics: tarn: [C2] two policies were given for the axis statistics; keep one
struct counting : tarn::no_statistics {};

RIGHT(tarn::pool<tarn::static_size<64>, tarn::no_statistics> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::no_statistics, counting> wrong;)

// case c2_two_names: tarn: [C2] two policies were given for the axis name; keep one
RIGHT(tarn::pool<tarn::static_size<64>, tarn::named<"orders">> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::named<"orders">, tarn::unnamed> wrong;)

// case c2_two_stores: tarn: [C2] two policies were given for the axis store; keep one
RIGHT(tarn::pool<tarn::static_size<64>, tarn::page_store<>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::page_store<>, tarn::heap_store> wrong;)

// case c3_axis_of_another_name: tarn: [C3] an argument of pool<...> isn't a policy
// A policy whose axis is none of the nine.
struct colour {};
struct red_blocks {
  using axis = colour;
};

RIGHT(tarn::pool<tarn::static_size<64>> right;)
WRONG(tarn::pool<tarn::static_size<64>, red_blocks> wrong;)

// case c3_static_pool_without_tag: tarn: [C3] an argument of pool<...> isn't a policy
// The first argument of static_pool is taken as the tag, and so the policy that was meant for it is missing.
RIGHT(auto& right = tarn::static_pool<struct orders, tarn::size_of<Order>>::instance();)
WRONG(auto& wrong = tarn::static_pool<struct orders, Order>::instance();)

// case c3_type_for_a_size: tarn: [C3] an argument of pool<...> isn't a policy
// expect: write size_of<T> for blocks of type T
RIGHT(tarn::pool<tarn::size_of<Order>> right;)
WRONG(tarn::pool<Order> wrong;)

// case c3_type_for_an_allocator: tarn: [C3] an argument of pool<...> isn't a policy
// The second argument was meant as the type of the elements' keys, or as another allocator.
RIGHT(std::vector<int, tarn::stl_allocator<int>> right(3);)
WRONG(std::vector<int, tarn::stl_allocator<int, std::allocator<int>>> wrong(3);)

// case c4_two_values: tarn: [C4] the constructor was given two objects of one policy; keep one
RIGHT(tarn::pool<tarn::dynamic_size> right{tarn::dynamic_size{48}};)
WRONG(tarn::pool<tarn::dynamic_size> wrong{tarn::dynamic_size{48}, tarn::dynamic_size{64}};)

// case c5_no_resource: tarn: [C5] a policy of this pool has no default value
// The other object that is needed was given.
RIGHT(tarn::pool<tarn::dynamic_size, tarn::resource_store> right{tarn::resource_store{std::pmr::new_delete_resource()},
                                                                 tarn::dynamic_size{48}};)
WRONG(tarn::pool<tarn::dynamic_size, tarn::resource_store> wrong{tarn::dynamic_size{48}};)

// case c5_no_name
// expect: budgeted without the budget's name, retry_with a function, run_time_name); pass an object of it to the constructor
RIGHT(tarn::pool<tarn::static_size<64>, tarn::run_time_name> right{tarn::run_time_name{"orders"}};)
WRONG(tarn::pool<tarn::static_size<64>, tarn::run_time_name> wrong;)

// case c6_number_for_a_size: tarn: [C6] the constructor was given an object that isn't a policy of this pool
RIGHT(tarn::pool<tarn::dynamic_size> right{tarn::dynamic_size{48, 16}};)
WRONG(tarn::pool<tarn::dynamic_size> wrong{48, 16};)

// case c6_policy_of_another_pool: tarn: [C6] the constructor was given an object that isn't a policy of this pool
// The store that the pool has is heap_store.
std::byte bytes[4096];

RIGHT(tarn::pool<tarn::static_size<64>, tarn::buffer_store> right{tarn::buffer_store{bytes}};)
WRONG(tarn::pool<tarn::static_size<64>> wrong{tarn::buffer_store{bytes}};)

// case c7_static_pool_with_destructor
// expect: tarn: [C7] a static pool was given a policy or mutex whose destructor would run at exit, while other code still
class registered_mutex {
 public:
  constexpr registered_mutex() noexcept = default;
  ~registered_mutex() { locked_ = false; }
  void lock() noexcept { locked_ = true; }
  void unlock() noexcept { locked_ = false; }

 private:
  bool locked_ = false;
};

RIGHT(tarn::pool<tarn::static_size<64>, tarn::mutex_locking<registered_mutex>> right;)
WRONG(using wrong = tarn::static_pool<struct orders, tarn::static_size<64>, tarn::mutex_locking<registered_mutex>>;
      void* use() { return wrong::instance().allocate(); })

// case c8_class_pool_over_buffer
// expect: tarn: [C8] a static pool was given a policy that needs a value from a constructor call, which a static pool doesn't
struct Node {
  Node* next = nullptr;
RIGHT(DECLARE_MEMORY_POOL_WITH(Node, tarn::static_array_store<64>))
WRONG(DECLARE_MEMORY_POOL_WITH(Node, tarn::buffer_store))
};

void use() { delete new Node; }

// case c8_static_pool_with_a_run_time_name
// expect: budgeted without the budget's name, retry_with a function, run_time_name); use another policy, or a pool object
RIGHT(using pool = tarn::static_pool<struct orders, tarn::static_size<64>>;)
WRONG(using pool = tarn::static_pool<struct orders, tarn::static_size<64>, tarn::run_time_name>;)
void* use() { return pool::instance().allocate(); }

// case c9_static_pool_made_at_run_time
// expect: tarn: [C9] a static pool was given a policy or mutex whose constructor would run when the program starts
RIGHT(tarn::pool<tarn::static_size<64>, tarn::mutex_locking<spin_mutex>> right;)
WRONG(using wrong = tarn::static_pool<struct orders, tarn::static_size<64>, tarn::mutex_locking<spin_mutex>>;
      void* use() { return wrong::instance().allocate(); })

// case c10_classes_for_a_pool: tarn: [C10] size classes were given to a pool whose blocks have one size
// expect: use size_class_pool<...>
RIGHT(tarn::size_class_pool<tarn::geometric_classes<>> right; void use() { right.deallocate(right.allocate(100, 8), 100, 8); })
WRONG(tarn::pool<tarn::geometric_classes<>> wrong; void use() { wrong.deallocate(wrong.allocate()); })

// case c11_one_size_for_classes: tarn: [C11] a policy of one block size was given to a pool of many sizes
RIGHT(tarn::size_class_pool<tarn::listed_classes<64>> right; void use() { right.deallocate(right.allocate(64, 8), 64, 8); })
WRONG(tarn::size_class_pool<tarn::static_size<64>> wrong; void use() { wrong.deallocate(wrong.allocate(64, 8), 64, 8); })

// case c12_reuse_for_a_recycling_pool: tarn: [C12] a reuse policy was given to recycling_pool
// The state that a recycling_pool keeps in a free slot stands behind the link of lifo_reuse: another would write over it.
struct Grid {
  void reset() { used = 0; }
  int used = 0;
};

RIGHT(tarn::recycling_pool<Grid> right; Grid* use() { return right.acquire(); })
WRONG(tarn::recycling_pool<Grid, tarn::batch_reuse<>> wrong; Grid* use() { return wrong.acquire(); })

// case c12_store_for_a_resource: tarn: [C12] a store was given to pool_resource
// A memory resource gets its memory from the upstream that its constructor is given.
RIGHT(tarn::pool_resource<> right(std::pmr::new_delete_resource()); void* use() { return right.allocate(64); })
WRONG(tarn::pool_resource<tarn::heap_store> wrong; void* use() { return wrong.allocate(64); })

// case c12_growth_for_a_resource: tarn: [C12] a growth policy was given to pool_resource
RIGHT(tarn::pool_resource<> right(std::pmr::pool_options{.max_blocks_per_chunk = 64, .largest_required_pool_block = 0});
      void* use() { return right.allocate(64); })
WRONG(tarn::pool_resource<tarn::fixed_growth<64>> wrong; void* use() { return wrong.allocate(64); })

// case c12_size_for_an_object_pool
// expect: tarn: [C12] a size policy was given to a pool or container whose type determines the block size
RIGHT(tarn::object_pool<int> right; void use() { right.destroy(right.construct(1)); })
WRONG(tarn::object_pool<int, tarn::static_size<64>> wrong; void use() { wrong.destroy(wrong.construct(1)); })

// case c13_pool_for_an_object_pool: tarn: [C13] a pool was given where policies are expected
RIGHT(tarn::object_pool<int, tarn::mutex_locking<>> right; void use() { right.destroy(right.construct(1)); })
WRONG(tarn::object_pool<int, tarn::pool<tarn::size_of<int>, tarn::mutex_locking<>>> wrong;
      void use() { wrong.destroy(wrong.construct(1)); })

// case c13_static_pool_for_an_object_pool: tarn: [C13] a pool was given where policies are expected
RIGHT(tarn::object_pool<int, tarn::mutex_locking<>> right; void use() { right.destroy(right.construct(1)); })
WRONG(tarn::object_pool<int, tarn::static_pool<struct orders, tarn::size_of<int>>> wrong;
      void use() { wrong.destroy(wrong.construct(1)); })

// case c13_refused_pool_for_a_policy: tarn: [C1] no policy was given for the axis size
// The pool was refused already; that it is no policy is no second error.
RIGHT(tarn::object_pool<int, tarn::mutex_locking<>> right;)
WRONG(tarn::object_pool<int, tarn::pool<tarn::mutex_locking<>>> wrong;)

// case c14_pool_copied: basic_pool
// mentions: tarn: [C14] a pool can't be copied or moved; take a reference
RIGHT(tarn::pool<tarn::static_size<64>> pool; tarn::pool<tarn::static_size<64>>& right = pool;)
WRONG(tarn::pool<tarn::static_size<64>> pool; tarn::pool<tarn::static_size<64>> wrong = pool;)

// case c14_static_pool_copied: pool_body
// mentions: tarn: [C14] a pool can't be copied or moved; take a reference
RIGHT(using orders = tarn::static_pool<struct orders_tag, tarn::static_size<64>>; auto& right = orders::instance();)
WRONG(using orders = tarn::static_pool<struct orders_tag, tarn::static_size<64>>; auto wrong = orders::instance();)

// case c14_object_pool_by_value: object_pool
// mentions: tarn: [C14] a pool can't be copied or moved; take a reference
RIGHT(void call(tarn::object_pool<int>&);)
WRONG(void call(tarn::object_pool<int>);)
tarn::object_pool<int> orders;
void use() { call(orders); }

// case c14_pool_assigned: operator
// mentions: tarn: [C14] a pool can't be copied or moved; take a reference
tarn::pool<tarn::static_size<64>> one;
tarn::pool<tarn::static_size<64>> other;
RIGHT(tarn::pool<tarn::static_size<64>>& right = other;)
WRONG(void wrong() { one = other; })

// case c14_object_pool_assigned: operator
// mentions: tarn: [C14] a pool can't be copied or moved; take a reference
tarn::object_pool<int> one;
tarn::object_pool<int> other;
RIGHT(tarn::object_pool<int>& right = other;)
WRONG(void wrong() { one = other; })

// case c14_resource_assigned: operator
// mentions: tarn: [C14] a pool can't be copied or moved; take a reference
// errors: many
// The compiler first tells that the class's own operator, which it makes, is deleted.
tarn::pmr::unsynchronized_pool_resource one;
tarn::pmr::unsynchronized_pool_resource other;
RIGHT(tarn::pmr::unsynchronized_pool_resource& right = other;)
WRONG(void wrong() { one = other; })

// case const_pool: const tarn::
// mentions: changes the pool: not for a const one
// A language error, whose note shows the line that says why.
RIGHT(void right(tarn::pool<tarn::static_size<64>>& pool) { pool.deallocate(pool.allocate()); })
WRONG(void wrong(const tarn::pool<tarn::static_size<64>>& pool) { static_cast<void>(pool.allocate()); })

// case c3_heap_of_no_policy: tarn: [C3] an argument of pool<...> isn't a policy
// A refused heap is used, too: that is no second mistake.
struct messages;
RIGHT(using heap = tarn::xallocator<messages, tarn::mutex_locking<std::mutex>>;)
WRONG(using heap = tarn::xallocator<messages, std::mutex>;)
void use() {
  void* const block = heap::reallocate(heap::allocate(10), 20);
  heap::deallocate_sized(block, heap::usable_size(block));
  (void)heap::trim();
}

// case c8_heap_over_a_resource
// expect: tarn: [C8] a static pool was given a policy that needs a value from a constructor call, which a static pool doesn't
struct messages;
RIGHT(using heap = tarn::xallocator<messages, tarn::page_store<>>;)
WRONG(using heap = tarn::xallocator<messages, tarn::resource_store>;)
void use() { heap::deallocate(heap::allocate(10)); }

// case c15_sampled_heap: tarn: [C15] sampled_guard_pages was combined with blocks that are freed by address alone
struct messages;
RIGHT(using heap = tarn::xallocator<messages, tarn::hardened>;)
WRONG(using heap = tarn::xallocator<messages, tarn::sampled_guard_pages<5000>>;)
void use() { heap::deallocate(heap::allocate(10)); }

// case c15_sampled_array_of_classes: tarn: [C15] sampled_guard_pages was combined with blocks that are freed by address alone
RIGHT(tarn::size_class_pool<tarn::sampled_guard_pages<5000>> pool;)
WRONG(tarn::size_class_pool<tarn::sampled_guard_pages<5000>, tarn::static_array_store<4>> pool;)
void use() { pool.deallocate(pool.allocate(10), 10); }

// case c5_multipool_over_a_buffer: tarn: [C5] a policy of this pool has no default value
struct wall {};
struct door {};
RIGHT(tarn::multipool<wall, door, tarn::static_array_store<8>> pools;)
WRONG(tarn::multipool<wall, door, tarn::buffer_store> pools;)
void use() { pools.destroy(pools.construct<wall>()); }

// case c8_containers_over_a_buffer
// expect: tarn: [C8] a static pool was given a policy that needs a value from a constructor call, which a static pool doesn't
RIGHT(tarn::stl_allocator<long, tarn::static_array_store<64>> allocator;)
WRONG(tarn::stl_allocator<long, tarn::buffer_store> allocator;)
void use() { allocator.deallocate(allocator.allocate(1), 1); }

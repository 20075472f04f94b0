// V: arenas.
#include <cstddef>

#include "tarn/allocator/arena.h"
#include "tarn/allocator/arena_resource.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/policies/checking/switchable_checking.h"
#include "tarn/policies/name.h"

// For several cases: all members of an arena, which cause no further error if it is refused.
template <class Arena>
void use(Arena& a) {
  const auto mark = a.mark();
  (void)a.allocate(8);
  (void)a.try_allocate(8, 8);
  (void)a.template allocate<8>();
  (void)a.template try_allocate<8, 8>();
  a.deallocate(a.template create<int>(1), sizeof(int));
  (void)a.grow_last(nullptr, 8, 16);
  (void)a.template make_span<int>(3).size();
  { typename Arena::scope inner(a); }
  a.rewind(mark);
  (void)(a.owns(nullptr) || a.in_use() == a.capacity());
  a.reset();
  a.reset(4096);
  a.trim();
  a.release();
}

// case v1_a_type: tarn: [V1] an argument of arena<...> isn't a policy
RIGHT(tarn::arena<tarn::fixed_growth<4096>> right; void call() { use(right); })
WRONG(tarn::arena<int> wrong; void call() { use(wrong); })

// case v1_a_pool: tarn: [V1] an argument of arena<...> isn't a policy
RIGHT(tarn::arena<> right;)
WRONG(tarn::arena<tarn::size_class_pool<>> wrong;)

// case v2_a_size: tarn: [V2] a size policy was given to an arena, but each call gives the size of its block
RIGHT(tarn::arena<> right; void* block = right.allocate<64>();)
WRONG(tarn::arena<tarn::static_size<64>> wrong; void* block = wrong.allocate<64>();)

// case v2_classes: tarn: [V2] a size policy was given to an arena, but each call gives the size of its block
RIGHT(tarn::arena<> right; void call() { use(right); })
WRONG(tarn::arena<tarn::geometric_classes<>> wrong; void call() { use(wrong); })

// case v3_a_reuse: tarn: [V3] a reuse policy was given to an arena, whose blocks become free all at once
RIGHT(tarn::arena<> right;)
WRONG(tarn::arena<tarn::lifo_reuse<>> wrong;)

// case v4_a_retention: tarn: [V4] a retention policy was given to an arena
RIGHT(tarn::arena<> right; void call() { right.reset(4096); })
WRONG(tarn::arena<tarn::return_empty_chunks<>> wrong; void call() { wrong.reset(4096); })

// case v5_thread_cached: tarn: [V5] an arena was combined with a locking policy that keeps free blocks
RIGHT(tarn::arena<tarn::mutex_locking<>> right;)
WRONG(tarn::arena<tarn::thread_cached<>> wrong; void call() { use(wrong); })

// case v5_lock_free: tarn: [V5] an arena was combined with a locking policy that keeps free blocks
RIGHT(tarn::arena<> right;)
WRONG(tarn::arena<tarn::lock_free> wrong;)

// case v5_groups: tarn: [V5] an arena was combined with a locking policy that keeps free blocks
struct audio;
RIGHT(tarn::arena<> right;)
WRONG(tarn::arena<tarn::grouped_locking<audio>> wrong;)

// case v6_waits: tarn: [V6] an arena was combined with an exhaustion policy that waits for freed blocks
RIGHT(tarn::arena<tarn::mutex_locking<>, tarn::fall_back_to<tarn::heap_store>> right;)
WRONG(tarn::arena<tarn::mutex_locking<>, tarn::wait_for_block<>> wrong;)

// case v6_reclaims: tarn: [V6] an arena was combined with an exhaustion policy that waits for freed blocks
RIGHT(tarn::arena<> right;)
WRONG(tarn::arena<tarn::reclaim_and_retry<>> wrong; void call() { use(wrong); })

// case v7_deferred
// expect: tarn: [V7] an arena was combined with a checking policy, or an option of one, that checks single free blocks
RIGHT(tarn::arena<tarn::hardened> right; void call() { use(right); })
WRONG(tarn::arena<tarn::deferred_checking> wrong; void call() { use(wrong); })

// case v7_guard_bytes
// expect: tarn: [V7] an arena was combined with a checking policy, or an option of one, that checks single free blocks
RIGHT(tarn::arena<tarn::hardened_with<tarn::may_end_in_use>> right;)
WRONG(tarn::arena<tarn::hardened_with<tarn::guard_bytes>> wrong;)

// case v7_sites: tarn: [V7] an arena was combined with a checking policy, or an option of one, that checks single free blocks
RIGHT(tarn::arena<tarn::checked> right; void call() { use(right); })
WRONG(tarn::arena<tarn::checked_with<tarn::sites>> wrong;)

// case v7_switchable
// expect: tarn: [V7] an arena was combined with a checking policy, or an option of one, that checks single free blocks
RIGHT(tarn::arena<tarn::checked, tarn::named<"requests">> right;)
WRONG(tarn::arena<tarn::switchable_checking, tarn::named<"requests">> wrong;)

// case v8_own_statistics: tarn: [V8] an arena was combined with a statistics policy other than counting_statistics
struct own : tarn::no_statistics {};
RIGHT(tarn::arena<tarn::counting_statistics> right; std::size_t bytes = right.statistics().peak;)
WRONG(tarn::arena<own> wrong;)

// case v9_grows_ahead: tarn: [V9] an arena was combined with grow_ahead
RIGHT(tarn::arena<tarn::geometric_growth<>> right;)
WRONG(tarn::arena<tarn::grow_ahead<4096>> wrong;)

// case v10_mark_under_a_mutex: mark
// mentions: tarn: [V10] a mark needs no_locking; use an arena for each thread
RIGHT(tarn::arena<> right; void call() { auto mark = right.mark(); right.rewind(mark); })
WRONG(tarn::arena<tarn::mutex_locking<>> wrong; void call() { auto mark = wrong.mark(); })

// case v11_static_buffer: tarn: [V11] a static arena was given a policy that needs a value
struct tag;
RIGHT(using right = tarn::static_arena<tag, tarn::static_array_store<4096>>; void* block = right::instance().allocate(8);)
WRONG(using wrong = tarn::static_arena<tag, tarn::buffer_store>; void* block = wrong::instance().allocate(8);)

// case v12_static_mutex
// expect: tarn: [V12] a static arena was given a policy or mutex whose constructor would run when the program starts
class spin_mutex {
 public:
  spin_mutex() { unlock(); }
  void lock() noexcept {}
  void unlock() noexcept { locked_ = false; }

 private:
  volatile bool locked_;
};
struct tag;
RIGHT(using right = tarn::static_arena<tag, tarn::mutex_locking<>>; void* block = right::instance().allocate(8);)
WRONG(using wrong = tarn::static_arena<tag, tarn::mutex_locking<spin_mutex>>; void* block = wrong::instance().allocate(8);)

// case v2_static: tarn: [V2] a size policy was given to an arena, but each call gives the size of its block
struct tag;
RIGHT(using right = tarn::static_arena<tag>; void* block = right::instance().allocate(8);)
WRONG(using wrong = tarn::static_arena<tag, tarn::static_size<8>>; void* block = wrong::instance().allocate(8);)

// case v13_copied: basic_arena
// mentions: tarn: [V13] an arena can't be copied or moved; take a reference
RIGHT(tarn::arena<> its; tarn::arena<>& right = its;)
WRONG(tarn::arena<> its; tarn::arena<> wrong = its;)

// What holds for pools, too.

// case v_array_that_grows: tarn: [R3] a growth policy of several chunks was combined with a store that has only one
RIGHT(tarn::arena<tarn::static_array_store<4096>> right;)
WRONG(tarn::arena<tarn::static_array_store<4096>, tarn::geometric_growth<>> wrong; void call() { use(wrong); })

// case v_heap_without_a_size: tarn: [R5] no_growth<> without a number was combined with an unbounded store
RIGHT(tarn::arena<tarn::no_growth<4096>> right;)
WRONG(tarn::arena<tarn::no_growth<>> wrong;)

// case v_two_stores: tarn: [C2] two policies were given for the axis store; keep one
RIGHT(tarn::arena<tarn::page_store<>> right;)
WRONG(tarn::arena<tarn::page_store<>, tarn::heap_store> wrong; void call() { use(wrong); })

// case v_no_chunk: tarn: [G1] fixed_growth<0> was given, but a chunk needs blocks
RIGHT(tarn::arena<tarn::fixed_growth<1>> right;)
WRONG(tarn::arena<tarn::fixed_growth<0>> wrong; void call() { use(wrong); })

// case v_buffer_without_bytes: tarn: [C5] a policy of this pool has no default value
RIGHT(std::byte bytes[4096]; tarn::arena<tarn::buffer_store> right{tarn::buffer_store(bytes)};)
WRONG(tarn::arena<tarn::buffer_store> wrong;)

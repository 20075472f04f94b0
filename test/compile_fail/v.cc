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

// expect: tarn: [V1] an argument of arena<...> isn't a policy
namespace v1_a_type {
RIGHT(tarn::arena<tarn::fixed_growth<4096>> right; void call() { use(right); })
WRONG(tarn::arena<int> wrong; void call() { use(wrong); })
}  // namespace v1_a_type

// expect: tarn: [V1] an argument of arena<...> isn't a policy
namespace v1_a_pool {
RIGHT(tarn::arena<> right;)
WRONG(tarn::arena<tarn::size_class_pool<>> wrong;)
}  // namespace v1_a_pool

// expect: tarn: [V2] a size policy was given to an arena, but each call gives the size of its block
namespace v2_a_size {
RIGHT(tarn::arena<> right; void* block = right.allocate<64>();)
WRONG(tarn::arena<tarn::static_size<64>> wrong; void* block = wrong.allocate<64>();)
}  // namespace v2_a_size

// expect: tarn: [V2] a size policy was given to an arena, but each call gives the size of its block
namespace v2_classes {
RIGHT(tarn::arena<> right; void call() { use(right); })
WRONG(tarn::arena<tarn::geometric_classes<>> wrong; void call() { use(wrong); })
}  // namespace v2_classes

// expect: tarn: [V3] a reuse policy was given to an arena, whose blocks become free all at once
namespace v3_a_reuse {
RIGHT(tarn::arena<> right;)
WRONG(tarn::arena<tarn::lifo_reuse<>> wrong;)
}  // namespace v3_a_reuse

// expect: tarn: [V4] a retention policy was given to an arena
namespace v4_a_retention {
RIGHT(tarn::arena<> right; void call() { right.reset(4096); })
WRONG(tarn::arena<tarn::return_empty_chunks<>> wrong; void call() { wrong.reset(4096); })
}  // namespace v4_a_retention

// expect: tarn: [V5] an arena was combined with a locking policy that keeps free blocks
namespace v5_thread_cached {
RIGHT(tarn::arena<tarn::mutex_locking<>> right;)
WRONG(tarn::arena<tarn::thread_cached<>> wrong; void call() { use(wrong); })
}  // namespace v5_thread_cached

// expect: tarn: [V5] an arena was combined with a locking policy that keeps free blocks
namespace v5_lock_free {
RIGHT(tarn::arena<> right;)
WRONG(tarn::arena<tarn::lock_free> wrong;)
}  // namespace v5_lock_free

// expect: tarn: [V5] an arena was combined with a locking policy that keeps free blocks
namespace v5_groups {
struct audio;
RIGHT(tarn::arena<> right;)
WRONG(tarn::arena<tarn::grouped_locking<audio>> wrong;)
}  // namespace v5_groups

// expect: tarn: [V6] an arena was combined with an exhaustion policy that waits for freed blocks
namespace v6_waits {
RIGHT(tarn::arena<tarn::mutex_locking<>, tarn::fall_back_to<tarn::heap_store>> right;)
WRONG(tarn::arena<tarn::mutex_locking<>, tarn::wait_for_block<>> wrong;)
}  // namespace v6_waits

// expect: tarn: [V6] an arena was combined with an exhaustion policy that waits for freed blocks
namespace v6_reclaims {
RIGHT(tarn::arena<> right;)
WRONG(tarn::arena<tarn::reclaim_and_retry<>> wrong; void call() { use(wrong); })
}  // namespace v6_reclaims

// expect: tarn: [V7] an arena was combined with a checking policy, or an option of one, that checks single free blocks
namespace v7_deferred {
RIGHT(tarn::arena<tarn::hardened> right; void call() { use(right); })
WRONG(tarn::arena<tarn::deferred_checking> wrong; void call() { use(wrong); })
}  // namespace v7_deferred

// expect: tarn: [V7] an arena was combined with a checking policy, or an option of one, that checks single free blocks
namespace v7_guard_bytes {
RIGHT(tarn::arena<tarn::hardened_with<tarn::may_end_in_use>> right;)
WRONG(tarn::arena<tarn::hardened_with<tarn::guard_bytes>> wrong;)
}  // namespace v7_guard_bytes

// expect: tarn: [V7] an arena was combined with a checking policy, or an option of one, that checks single free blocks
namespace v7_sites {
RIGHT(tarn::arena<tarn::checked> right; void call() { use(right); })
WRONG(tarn::arena<tarn::checked_with<tarn::sites>> wrong;)
}  // namespace v7_sites

// expect: tarn: [V7] an arena was combined with a checking policy, or an option of one, that checks single free blocks
namespace v7_switchable {
RIGHT(tarn::arena<tarn::checked, tarn::named<"requests">> right;)
WRONG(tarn::arena<tarn::switchable_checking, tarn::named<"requests">> wrong;)
}  // namespace v7_switchable

// expect: tarn: [V8] an arena was combined with a statistics policy other than counting_statistics
namespace v8_own_statistics {
struct own : tarn::no_statistics {};
RIGHT(tarn::arena<tarn::counting_statistics> right; std::size_t bytes = right.statistics().peak;)
WRONG(tarn::arena<own> wrong;)
}  // namespace v8_own_statistics

// expect: tarn: [V9] an arena was combined with grow_ahead
namespace v9_grows_ahead {
RIGHT(tarn::arena<tarn::geometric_growth<>> right;)
WRONG(tarn::arena<tarn::grow_ahead<4096>> wrong;)
}  // namespace v9_grows_ahead

// expect: mark
// mentions: tarn: [V10] a mark needs no_locking; use an arena for each thread
namespace v10_mark_under_a_mutex {
RIGHT(tarn::arena<> right; void call() { auto mark = right.mark(); right.rewind(mark); })
WRONG(tarn::arena<tarn::mutex_locking<>> wrong; void call() { auto mark = wrong.mark(); })
}  // namespace v10_mark_under_a_mutex

// expect: tarn: [V11] a static arena was given a policy that needs a value
namespace v11_static_buffer {
struct tag;
RIGHT(using right = tarn::static_arena<tag, tarn::static_array_store<4096>>; void* block = right::instance().allocate(8);)
WRONG(using wrong = tarn::static_arena<tag, tarn::buffer_store>; void* block = wrong::instance().allocate(8);)
}  // namespace v11_static_buffer

// expect: tarn: [V12] a static arena was given a policy or mutex whose constructor would run when the program starts
namespace v12_static_mutex {
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
}  // namespace v12_static_mutex

// expect: tarn: [V2] a size policy was given to an arena, but each call gives the size of its block
namespace v2_static {
struct tag;
RIGHT(using right = tarn::static_arena<tag>; void* block = right::instance().allocate(8);)
WRONG(using wrong = tarn::static_arena<tag, tarn::static_size<8>>; void* block = wrong::instance().allocate(8);)
}  // namespace v2_static

// expect: basic_arena
// mentions: tarn: [V13] an arena can't be copied or moved; take a reference
namespace v13_copied {
RIGHT(tarn::arena<> its; tarn::arena<>& right = its;)
WRONG(tarn::arena<> its; tarn::arena<> wrong = its;)
}  // namespace v13_copied

// What holds for pools, too.

// expect: tarn: [R3] a growth policy of several chunks was combined with a store that has only one
namespace v_array_that_grows {
RIGHT(tarn::arena<tarn::static_array_store<4096>> right;)
WRONG(tarn::arena<tarn::static_array_store<4096>, tarn::geometric_growth<>> wrong; void call() { use(wrong); })
}  // namespace v_array_that_grows

// expect: tarn: [R5] no_growth<> without a number was combined with an unbounded store
namespace v_heap_without_a_size {
RIGHT(tarn::arena<tarn::no_growth<4096>> right;)
WRONG(tarn::arena<tarn::no_growth<>> wrong;)
}  // namespace v_heap_without_a_size

// expect: tarn: [C2] two policies were given for the axis store; keep one
namespace v_two_stores {
RIGHT(tarn::arena<tarn::page_store<>> right;)
WRONG(tarn::arena<tarn::page_store<>, tarn::heap_store> wrong; void call() { use(wrong); })
}  // namespace v_two_stores

// expect: tarn: [G1] fixed_growth<0> was given, but a chunk needs blocks
namespace v_no_chunk {
RIGHT(tarn::arena<tarn::fixed_growth<1>> right;)
WRONG(tarn::arena<tarn::fixed_growth<0>> wrong; void call() { use(wrong); })
}  // namespace v_no_chunk

// expect: tarn: [C5] a policy of this pool has no default value
namespace v_buffer_without_bytes {
RIGHT(std::byte bytes[4096]; tarn::arena<tarn::buffer_store> right{tarn::buffer_store(bytes)};)
WRONG(tarn::arena<tarn::buffer_store> wrong;)
}  // namespace v_buffer_without_bytes

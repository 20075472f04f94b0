// R: policies that don't go together.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/recycling_pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/policies/checking/switchable_checking.h"

// For several cases: a class, and lock_free as it is on a Cortex-M4, among interrupts.
struct grid {
  void reset() {}
};
struct narrow_lock_free : tarn::detail::stack_locking<std::uint32_t> {
  static constexpr tarn::locking_traits traits{
      .may_return_chunks = false, .keeps_memory = true, .own_free_list = true, .most_blocks = 65'535};
};

// shows: FM-1
// case r1_zero_bytes: tarn: [R1] static_size was given zero bytes, so all blocks would have the same address
RIGHT(tarn::pool<tarn::static_size<1>> right;)
WRONG(tarn::pool<tarn::static_size<0>> wrong;)

// shows: FM-1
// case r2_alignment_of_24: tarn: [R2] the alignment isn't a power of two, so no address can have it
RIGHT(tarn::pool<tarn::static_size<48, 16>> right;)
WRONG(tarn::pool<tarn::static_size<48, 24>> wrong;)

// case r3_array_that_grows: tarn: [R3] a growth policy of several chunks was combined with a store that has only one
RIGHT(tarn::pool<tarn::static_size<64>, tarn::static_array_store<8>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::static_array_store<8>, tarn::geometric_growth<>> wrong;)

// case r3_reserve_that_grows: tarn: [R3] a growth policy of several chunks was combined with a store that has only one
using array = tarn::static_array_store<50>;

RIGHT(tarn::pool<tarn::static_size<64>, tarn::fall_back_to<array, tarn::no_growth<10>>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::fall_back_to<array, tarn::fixed_growth<10>>> wrong;)

// case r3_buffer_of_a_pool_that_grows: tarn: [R3] a growth policy of several chunks was combined with a store that has only one
// What a pool that was refused would need is no second mistake.
RIGHT(using pool = tarn::pool<tarn::static_size<64>, tarn::buffer_store>;)
WRONG(using pool = tarn::pool<tarn::static_size<64>, tarn::buffer_store, tarn::fixed_growth<16>>;)
std::byte bytes[pool::bytes_for(16)];
static_assert(pool::blocks_in(sizeof bytes) != 0);

// case r4_array_of_dynamic_size: tarn: [R4] dynamic_size was combined with static_array_store
std::byte bytes[4096];

RIGHT(tarn::pool<tarn::dynamic_size, tarn::buffer_store> right{tarn::dynamic_size{48}, tarn::buffer_store{bytes}};)
WRONG(tarn::pool<tarn::dynamic_size, tarn::static_array_store<8>> wrong{tarn::dynamic_size{48}};)

// case r5_no_growth_without_number
// expect: tarn: [R5] no_growth<> without a number was combined with an unbounded store, so the size of its one chunk is unknown
RIGHT(tarn::pool<tarn::static_size<64>, tarn::no_growth<1000>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::no_growth<>> wrong;)

// case r6_batches_of_small_blocks: tarn: [R6] batch_reuse was combined with blocks under 16 bytes
RIGHT(tarn::pool<tarn::static_size<8>, tarn::lifo_reuse<>> right;)
WRONG(tarn::pool<tarn::static_size<8>, tarn::batch_reuse<>> wrong;)

// shows: FM-1
// case r7_block_beyond_address_space: tarn: [R7] the block, or the first chunk, is larger than the address space allows
RIGHT(tarn::pool<tarn::static_size<(std::size_t{1} << 30)>> right;)
WRONG(tarn::pool<tarn::static_size<static_cast<std::size_t>(-1), 1>> wrong;)

// case r7_chunk_beyond_address_space: tarn: [R7] the block, or the first chunk, is larger than the address space allows
// The product of the two numbers doesn't fit.
RIGHT(tarn::pool<tarn::static_size<64>, tarn::fixed_growth<(1u << 20)>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::fixed_growth<(std::size_t{1} << 60)>> wrong;)

// case r8_return_empty_chunks_of_batches
// expect: tarn: [R8] a retention policy that returns empty chunks was combined with a reuse policy that can't detect them, such
RIGHT(tarn::pool<tarn::static_size<64>, tarn::page_local_reuse<>, tarn::return_empty_chunks<>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::batch_reuse<>, tarn::return_empty_chunks<>> wrong;)

// case r12_in_several_products
// expect: tarn: [R12] wait_for_block was combined with a locking policy under which no other thread can free a block for the
// The same mistake in several products is said once, and nothing else is.
RIGHT(using locking = tarn::mutex_locking<>;)
WRONG(using locking = tarn::no_locking;)
void use() {
  tarn::object_pool<long, locking, tarn::checked, tarn::wait_for_block<1>> objects;
  objects.destroy(objects.construct(1));
  tarn::size_class_pool<locking, tarn::checked, tarn::wait_for_block<1>> sizes;
  sizes.deallocate(sizes.try_allocate(8, 8), 8, 8);
  tarn::stl_allocator<int, locking, tarn::checked, tarn::wait_for_block<1>> all;
  all.deallocate(all.allocate(1), 1);
  all.deallocate(all.allocate(3), 3);
}

// case r8_in_an_allocator_alone
// expect: tarn: [R8] a retention policy that returns empty chunks was combined with a reuse policy that can't detect them, such
RIGHT(tarn::stl_allocator<int, tarn::page_local_reuse<>, tarn::return_empty_chunks<>, tarn::checked> all;)
WRONG(tarn::stl_allocator<int, tarn::lifo_reuse<>, tarn::return_empty_chunks<>, tarn::checked> all;)
void use() {
  all.deallocate(all.allocate(1), 1);
  all.deallocate(all.allocate(3), 3);
}

// case r8_returning_idle_objects
// expect: tarn: [R8] a retention policy that returns empty chunks was combined with a reuse policy that can't detect them, such
struct grid {
  ~grid() {}
  void reset() {}
};
RIGHT(tarn::recycling_pool<grid, tarn::keep_chunks> right; void use() { right.release(right.acquire()); })
WRONG(tarn::recycling_pool<grid, tarn::return_empty_chunks<>> wrong; void use() { wrong.release(wrong.acquire()); })

// case r9_return_empty_chunks_of_lock_free
// expect: tarn: [R9] a retention policy that returns chunks was combined with a locking policy under which other threads may
RIGHT(tarn::pool<tarn::static_size<64>, tarn::thread_cached<>, tarn::return_empty_chunks<>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::lock_free, tarn::return_empty_chunks<>> wrong;)

// case r9_returning_under_readers
// expect: tarn: [R9] a retention policy that returns chunks was combined with a locking policy under which other threads may
struct eager : tarn::keep_chunks {
  static constexpr tarn::retention_traits traits{.returns_chunks = true};
};
struct unlocked_readers : tarn::no_locking {
  static constexpr tarn::locking_traits traits{.may_return_chunks = false, .one_thread = true};
};

RIGHT(tarn::pool<tarn::static_size<64>, eager, tarn::page_local_reuse<>, tarn::mutex_locking<>> right;
      tarn::pool<tarn::static_size<64>, tarn::page_local_reuse<>, unlocked_readers> keeping;)
WRONG(tarn::pool<tarn::static_size<64>, eager, tarn::page_local_reuse<>, unlocked_readers> wrong;)

// case r10_thread_cached_array: tarn: [R10] thread_cached was combined with a store that has only one chunk
RIGHT(tarn::pool<tarn::static_size<64>, tarn::lock_free, tarn::static_array_store<100>> right;
      tarn::pool<tarn::static_size<64>, tarn::thread_cached<>, tarn::no_growth<100>> from_the_heap;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::thread_cached<>, tarn::static_array_store<100>> wrong;)

// case r10_thread_cached_buffer: tarn: [R10] thread_cached was combined with a store that has only one chunk
RIGHT(using locking = tarn::mutex_locking<>;)
WRONG(using locking = tarn::thread_cached<>;)
void use(std::span<std::byte> bytes) {
  tarn::pool<tarn::static_size<64>, locking, tarn::buffer_store> pool{tarn::buffer_store{bytes}};
}

// case r11_reuse_for_lock_free
// expect: tarn: [R11] lock_free was combined with a reuse policy, but it keeps all free blocks on its own stack
RIGHT(tarn::pool<tarn::static_size<64>, tarn::lock_free> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::lock_free, tarn::batch_reuse<>> wrong;)

// case r12_waiting_beside_magazines
// expect: tarn: [R12] wait_for_block was combined with a locking policy under which no other thread can free a block for the
RIGHT(tarn::pool<tarn::static_size<64>, tarn::mutex_locking<>, tarn::wait_for_block<>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::thread_cached<>, tarn::wait_for_block<>> wrong;)

// case r13_reclaiming_for_an_array
// expect: tarn: [R13] reclaim_and_retry was combined with a store that has only one chunk (static_array_store, buffer_store)
RIGHT(tarn::pool<tarn::static_size<64>, tarn::heap_store, tarn::reclaim_and_retry<>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::static_array_store<8>, tarn::reclaim_and_retry<>> wrong;)

// case r14_deferred_checking_of_idle_objects
// expect: tarn: [R14] deferred_checking was combined with a reuse policy without a bitmap of the free blocks, which it checks
RIGHT(tarn::recycling_pool<grid, tarn::hardened> right; void use() { right.release(right.acquire()); })
WRONG(tarn::recycling_pool<grid, tarn::deferred_checking> wrong; void use() { wrong.release(wrong.acquire()); })

// case r14_deferred_checking_of_batches
// expect: tarn: [R14] deferred_checking was combined with a reuse policy without a bitmap of the free blocks, which it checks
RIGHT(tarn::pool<tarn::static_size<64>, tarn::deferred_checking> right;
      tarn::pool<tarn::static_size<64>, tarn::deferred_checking, tarn::page_local_reuse<4096>> right_too;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::deferred_checking, tarn::batch_reuse<>> wrong;)

// case r15_pages_of_the_heap
// expect: tarn: [R15] a retention policy that returns pages was combined with a store whose pages can't be returned one by one
RIGHT(tarn::pool<tarn::static_size<64>, tarn::page_store<>, tarn::return_empty_pages<>> right;
      tarn::pool<tarn::static_size<64>, tarn::page_store<tarn::guard_pages>, tarn::return_empty_pages<50>> guarded;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::return_empty_pages<>> wrong;)

// case r15_pages_of_many_sizes
// expect: tarn: [R15] a retention policy that returns pages was combined with a store whose pages can't be returned one by one
RIGHT(tarn::size_class_pool<tarn::page_store<>, tarn::return_empty_chunks<>> right;)
WRONG(tarn::size_class_pool<tarn::page_store<>, tarn::return_empty_pages<>> wrong;)

// case r16_growth_without_end
// expect: tarn: [R16] lock_free was combined with growth that may exceed 65,535 blocks, but with this target's 32-bit
RIGHT(tarn::pool<tarn::static_size<64>, narrow_lock_free, tarn::fixed_growth<100, 65'535>> right;)
WRONG(tarn::pool<tarn::static_size<64>, narrow_lock_free> wrong;)

// case r17_checks_without_a_name
// expect: tarn: [R17] switchable_checking was combined with a pool without a name, but checks are switched on by name
// expect: add the policy named, or use hardened, which always checks
RIGHT(tarn::pool<tarn::static_size<64>, tarn::switchable_checking, tarn::named<"orders">> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::switchable_checking> wrong;)

// case r17_array_of_a_static_pool: tarn: [R17] switchable_checking was combined with a pool without a name
struct tag;
template <class... Names>
using array = tarn::static_pool<tag, tarn::static_size<64>, tarn::static_array_store<8>, tarn::switchable_checking, Names...>;
RIGHT([[maybe_unused]] void* block() { return array<tarn::named<"array">>::instance().allocate(); })
WRONG([[maybe_unused]] void* block() { return array<>::instance().allocate(); })

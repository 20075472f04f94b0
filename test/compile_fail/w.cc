// W: allocators made of allocators that can't work.
#include <cstddef>

#include "tarn/allocator/block_macros.h"
#include "tarn/allocator/blocks.h"
#include "tarn/allocator/pool.h"

// case w1_no_block: tarn: [W1] a part of an allocator isn't a block or a product
RIGHT(tarn::segregate<64, tarn::pool<tarn::static_size<64>>, tarn::heap_block> right;)
WRONG(tarn::segregate<64, tarn::pool<tarn::static_size<64>>, tarn::heap_store> wrong;
      void use() { wrong.deallocate(wrong.allocate(8), 8); })

// case w1_block_of_ones_own: tarn: [W1] a part of an allocator isn't a block or a product
// It can be reset, and doesn't say so.
struct limited : tarn::heap_block {
RIGHT(static constexpr tarn::block_traits traits{.can_reset = true};)
WRONG(static constexpr tarn::block_traits traits{};)
  void reset() noexcept {}
};
tarn::counted<limited> one;
void use() { one.deallocate(one.allocate(8), 8); }

// case w2_heap_first: tarn: [W2] fall_back was given a first block that can't tell whether a block is its own
RIGHT(tarn::fall_back<tarn::pool<tarn::static_size<64>>, tarn::heap_block> right;)
WRONG(tarn::fall_back<tarn::heap_block, tarn::pool<tarn::static_size<64>>> wrong;
      void use() { wrong.deallocate(wrong.allocate(8), 8); })

// case w3_threshold_above_the_blocks: tarn: [W3] segregate sends requests to a block that refuses them
RIGHT(tarn::segregate<64, tarn::pool<tarn::static_size<64>>, tarn::heap_block> right;)
WRONG(tarn::segregate<128, tarn::pool<tarn::static_size<64>>, tarn::heap_block> wrong;
      void use() { wrong.deallocate(wrong.allocate(8), 8); })

// case w4_thresholds_that_descend: tarn: [W4] by_size has a line that never gets a request
template <std::size_t Bytes>
using blocks = tarn::up_to<Bytes, tarn::pool<tarn::static_size<Bytes>>>;
RIGHT(tarn::by_size<blocks<64>, blocks<128>, tarn::heap_block> right;)
WRONG(tarn::by_size<blocks<128>, blocks<64>, tarn::heap_block> wrong; void use() { wrong.deallocate(wrong.allocate(8), 8); })

// case w5_alignment_of_48: tarn: [W5] aligned_to was given an alignment that isn't a power of two
RIGHT(tarn::aligned_to<64, tarn::heap_block> right;)
WRONG(tarn::aligned_to<48, tarn::heap_block> wrong; void use() { wrong.deallocate(wrong.allocate(8), 8); })

// case w6_header_that_must_be_destroyed: tarn: [W6] prefix was given a header that has a destructor
struct header {
RIGHT(header() = default;)
WRONG(~header() {})
  int number = 0;
};
tarn::prefix<header, tarn::heap_block> one;
void use() { one.deallocate(one.allocate(8), 8); }

// case w7_no_mutex: tarn: [W7] shared_between was given a type without lock() and unlock()
RIGHT(tarn::shared_between<tarn::mutex, tarn::pool<tarn::static_size<64>>> right;)
WRONG(tarn::shared_between<tarn::no_locking, tarn::pool<tarn::static_size<64>>> wrong;
      void use() { wrong.deallocate(wrong.allocate(8), 8); })

// case w8_second_lock: tarn: [W8] shared_between was put around a block that any thread may already use
using locked = tarn::pool<tarn::static_size<64>, tarn::mutex_locking<>>;
RIGHT(tarn::counted<locked> right;)
WRONG(tarn::shared_between<tarn::mutex, tarn::counted<locked>> wrong; void use() { wrong.deallocate(wrong.allocate(8), 8); })

// case w9_sink_that_may_throw: tarn: [W9] traced was given a sink without a static on_event(const trace_event&)
struct sink {
  RIGHT(static void on_event(const tarn::trace_event&) noexcept {})
  WRONG(static void on_event(const tarn::trace_event&) {})
};
tarn::traced<sink, tarn::heap_block> one;
void use() { one.deallocate(one.allocate(8), 8); }

// case w10_pool_that_would_end: tarn: [W10] DECLARE_MEMORY_BLOCK was given a block with a destructor
struct node final {
  int value = 0;
  RIGHT(DECLARE_MEMORY_BLOCK(node, tarn::counted<tarn::static_pool<node, tarn::static_size<16>>>))
  WRONG(DECLARE_MEMORY_BLOCK(node, tarn::counted<tarn::pool<tarn::static_size<16>>>))
};

// case w11_others_may_be_derived: tarn: [W11] DECLARE_MEMORY_BLOCK was given a block without owns()
#ifdef TARN_TWIN
struct node final {
#else
struct node {
#endif
  int value = 0;
  DECLARE_MEMORY_BLOCK(node, tarn::counted<tarn::heap_block>)
};

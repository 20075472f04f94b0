// Results that nobody may drop.
#include "tarn/allocator/block_reservation.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/size_class_pool.h"

// case dropped_block: tarn: a discarded block is leaked
// A warning by default; it counts as an error here.
#pragma GCC diagnostic error "-Wunused-result"

tarn::pool<tarn::static_size<64>> pool;

RIGHT(void* right() { return pool.allocate(); })
WRONG(void wrong() { pool.allocate(); })

// case dropped_block_of_a_class: tarn: a discarded block is leaked
// A warning by default; it counts as an error here.
#pragma GCC diagnostic error "-Wunused-result"

tarn::size_class_pool<> pool;

RIGHT(void* right() { return pool.try_allocate(100); })
WRONG(void wrong() { pool.try_allocate(100); })

// case dropped_reservation: tarn: a discarded reservation is released immediately
// A warning by default; it counts as an error here.
#pragma GCC diagnostic error "-Wunused-result"

tarn::pool<tarn::static_size<64>> pool;

RIGHT(auto right() { return pool.reserve_blocks(10); })
WRONG(void wrong() { pool.reserve_blocks(10); })

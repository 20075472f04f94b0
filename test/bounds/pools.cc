// The compositions whose calls are bounded: take_NAME and give_NAME, as a program would call them. check_bounds.py compiles it
// for each processor, with TARN_MARKS.
#include <cstddef>

#include "tarn/allocator/pool.h"

#if defined(__arm__)
using mask = tarn::interrupt_mask;
#else
/// What a kernel would have: here a variable.
struct mask {
  using state = unsigned;
  static inline volatile unsigned flag = 0;
  static state save_and_mask() noexcept {
    const unsigned before = flag;
    flag = 1;
    return before;
  }
  static void restore(state before) noexcept { flag = before; }
};
#endif

template <class... More>
using array_pool = tarn::pool<tarn::static_size<48>, tarn::static_array_store<32>, More...>;

#define POOL(name, blocks, ...)                                                                                 \
  using name = __VA_ARGS__;                                                                                     \
  name pool_##name;                                                                                             \
  extern "C" [[gnu::noinline, gnu::used]] void* take_##name(name& pool) { return pool.try_allocate(); }         \
  extern "C" [[gnu::noinline, gnu::used]] void give_##name(name& pool, void* block) { pool.deallocate(block); } \
  extern "C" [[gnu::noinline, gnu::used]] bool reserve_##name(name& pool) {                                     \
    void* const block = pool.try_reserve(blocks) ? pool.try_allocate() : nullptr;                               \
    pool.deallocate(block); /* the first draws a secret */                                                      \
    return block != nullptr;                                                                                    \
  }

POOL(lifo_array, 32, array_pool<>)
POOL(interrupts, 32, array_pool<tarn::interrupt_locking<mask>>)
POOL(hardened_array, 32, array_pool<tarn::hardened>)
// Its code is that of blocks of any size, and costs most for the smallest. The last batch of 1,023 is the dearest to carve.
POOL(batch, 1023,
     tarn::pool<tarn::static_size<2 * sizeof(void*)>, tarn::no_growth<1023>,
                tarn::batch_reuse<tarn::prefetch::on_allocate, 256>>)
POOL(lifo, 1000, tarn::pool<tarn::static_size<48>, tarn::no_growth<1000>, tarn::lifo_reuse<>>)
#if defined(__riscv) || (defined(__arm__) && __ARM_ARCH >= 7)
// Where threads are, it carves under a mutex.
POOL(lock_free, 1000, tarn::pool<tarn::static_size<48>, tarn::no_growth<1000>, tarn::lock_free>)
#endif

int main() {}

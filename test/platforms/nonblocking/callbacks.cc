// Callbacks that must not block, as an audio driver calls them. clang has nothing to say of ACCEPTED ones. Of REFUSED ones it
// names what may block; what its notes must contain comes second.
#include <cstddef>

#include "tarn/allocator/pool.h"
#include "tarn/policies/reuse/page_local_reuse.h"

/// Interrupts, to a compiler for a system that has them.
struct mask {
  static inline volatile unsigned flag = 0;
  static unsigned save_and_mask() noexcept {
    const unsigned before = flag;
    flag = 1;
    return before;
  }
  static void restore(unsigned before) noexcept { flag = before; }
};

struct ask {
  bool operator()(std::size_t) noexcept;
};

using block = tarn::static_size<48>;
template <class... Policies>
using array = tarn::pool<block, tarn::static_array_store<32>, Policies...>;
template <class... Policies>
using reserved = tarn::pool<block, tarn::no_growth<1000>, Policies...>;

#define CALLBACK(name, ...)                                           \
  void name(__VA_ARGS__& pool) noexcept [[clang::nonblocking]] {      \
    pool.deallocate(pool.try_allocate());                             \
    void* blocks[9];                                                  \
    pool.deallocate_batch({blocks, pool.try_allocate_batch(blocks)}); \
  }
#define ACCEPTED CALLBACK
#define REFUSED(name, why, ...) CALLBACK(name, __VA_ARGS__)

ACCEPTED(over_an_array, array<>)
ACCEPTED(interrupts, array<tarn::interrupt_locking<mask>>)
ACCEPTED(batches, array<tarn::batch_reuse<>>)
ACCEPTED(counted, array<tarn::counting_statistics>)
ACCEPTED(in_a_buffer, tarn::pool<block, tarn::buffer_store>)
ACCEPTED(one_chunk, reserved<>)
ACCEPTED(one_chunk_as_a_list, reserved<tarn::lifo_reuse<>>)
ACCEPTED(one_chunk_by_pages, reserved<tarn::page_local_reuse<>>)
ACCEPTED(hardened_array, array<tarn::hardened>)
ACCEPTED(lock_free_array, array<tarn::lock_free>)

REFUSED(grows, "take_cold", tarn::pool<block>)
REFUSED(grows_to_a_cap, "take_cold", tarn::pool<block, tarn::fixed_growth<100, 1000>>)
REFUSED(gives_back, "take_cold", reserved<tarn::return_empty_chunks<>>)
REFUSED(asks_the_program, "take_cold", reserved<tarn::retry_with<ask>>)
REFUSED(lock_free_grows, "pop_slow", tarn::pool<block, tarn::lock_free>)
REFUSED(lock_free_chunk, "static local", reserved<tarn::lock_free>)
REFUSED(mutex, "syscall", reserved<tarn::mutex_locking<>>)
REFUSED(cached, "thread-local", tarn::pool<block, tarn::thread_cached<>>)
REFUSED(checked, "static local", array<tarn::checked>)

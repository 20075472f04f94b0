// Pools as firmware has them, 32 blocks of 48 bytes, each with the calls that allocate and free: -DPROGRAM_ and a name of
// limits.txt. main.cc is linked with each.
#include <cstddef>
#include <cstdlib>
#include <new>

#include "tarn/allocator/arena.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"

void halt(const tarn::misuse&) noexcept;
extern "C" {
void rtos_lock(void*) noexcept;
void rtos_unlock(void*) noexcept;
}

using block = tarn::static_size<48>;
using array = tarn::static_array_store<32>;
using halting = tarn::hardened_with<tarn::reported_to<halt>>;  // a handler of one's own
struct rtos_mutex {
  void lock() noexcept { rtos_lock(this); }
  void unlock() noexcept { rtos_unlock(this); }
  void* handle = nullptr;
};
template <class... Policies>
using one_pool = tarn::static_pool<struct messages, block, Policies...>;

#if defined(PROGRAM_static_pool)
using pool = one_pool<array>;
#elif defined(PROGRAM_with_mutex)  // a lock of the user's: here, an RTOS's
using pool = one_pool<array, tarn::mutex_locking<rtos_mutex>>;
#elif defined(PROGRAM_with_interrupts)
using pool = one_pool<array, tarn::interrupt_locking<>>;
#elif defined(PROGRAM_with_front)  // it finds its places by their distance from its start: else it and the array would be data
using pool = one_pool<array, tarn::batch_reuse<tarn::prefetch::none, 128>>;
#elif defined(PROGRAM_counting)
using pool = one_pool<array, tarn::counting_statistics>;
#elif defined(PROGRAM_arena)  // allocates, and gives all back at once
using arena = tarn::static_arena<struct messages, tarn::static_array_store<32 * 48>>;
void* take() { return arena::instance().try_allocate<48>(); }
void give(void*) { arena::instance().reset(); }
#elif defined(PROGRAM_hardened)
using pool = one_pool<array, halting>;
#elif defined(PROGRAM_hardened_printing)  // the default handler: texts, numbers, standard error
using pool = one_pool<array, tarn::hardened>;
#elif defined(PROGRAM_heap)  // one chunk, at the first call
using pool = one_pool<tarn::heap_store, tarn::no_growth<32>, tarn::lifo_reuse<>>;
#elif defined(PROGRAM_pool_object)
constinit tarn::pool<block, array> messages;
#define POOL messages
#elif defined(PROGRAM_hardened_object)
constinit tarn::pool<block, array, halting> messages;
#define POOL messages
#elif defined(PROGRAM_buffer)  // block size and memory known at run time
using pool = tarn::pool<tarn::dynamic_size, tarn::buffer_store>;
alignas(pool) static std::byte place[sizeof(pool)];
static pool* messages;
void make(std::size_t size, tarn::span<std::byte> memory) {
  messages = ::new (place) pool(tarn::dynamic_size(size), tarn::buffer_store(memory));
}
#define POOL (*messages)
#endif

#if !defined(POOL)
#define POOL pool::instance()
#endif
#if !defined(PROGRAM_arena) && !defined(PROGRAM_list_by_hand) && !defined(PROGRAM_boost_storage) && !defined(PROGRAM_malloc)
void* take() { return POOL.try_allocate(); }
void give(void* block) { POOL.deallocate(block); }
#endif

// ---- to compare with -------------------------------------------------------------------------------------------------------

#if defined(PROGRAM_list_by_hand)  // what somebody would write for one pool
alignas(8) static std::byte blocks[32][48];
static void* head;
static unsigned used;
void* take() {
  if (head == nullptr) return used != 32 ? blocks[used++] : nullptr;
  void* const block = head;
  head = *static_cast<void**>(block);
  return block;
}
void give(void* block) {
  if (block == nullptr) return;
  *static_cast<void**>(block) = head;
  head = block;
}
#elif defined(PROGRAM_boost_storage)  // Boost's list of blocks, which start() fills
#include <boost/pool/simple_segregated_storage.hpp>
alignas(8) static std::byte blocks[32 * 48];
static boost::simple_segregated_storage<std::size_t> storage;
void start() { storage.add_block(blocks, sizeof blocks, 48); }
void* take() { return storage.empty() ? nullptr : storage.malloc(); }
void give(void* block) {
  if (block != nullptr) storage.free(block);
}
#elif defined(PROGRAM_malloc)  // newlib-nano's; its blocks are in no column
void* take() { return std::malloc(48); }
void give(void* block) { std::free(block); }
#endif

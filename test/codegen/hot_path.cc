// The functions that check_codegen.py disassembles, three for each composition in limits.txt.
#include <cstddef>

#include "tarn/allocator/arena.h"
#include "tarn/allocator/blocks.h"
#include "tarn/allocator/memory_resource.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/allocator/xmalloc.h"
#include "tarn/policies/checking/switchable_checking.h"
#include "tarn/policies/name.h"
#include "tarn/policies/store/resource_store.h"

#define OBJECT(name, ...)                                                                      \
  using name = tarn::pool<__VA_ARGS__>;                                                        \
  extern "C" void* name##_allocate(name& p) { return p.allocate(); }                           \
  extern "C" void* name##_try_allocate(name& p) noexcept { return p.try_allocate(); }          \
  extern "C" void name##_deallocate(name& p, void* block) noexcept { p.deallocate(block); }

#define STATIC(name, ...)                                                                      \
  using name = tarn::static_pool<struct name##_tag, __VA_ARGS__>;                              \
  extern "C" void* name##_allocate() { return name::instance().allocate(); }                   \
  extern "C" void* name##_try_allocate() noexcept { return name::instance().try_allocate(); }  \
  extern "C" void name##_deallocate(void* block) noexcept { name::instance().deallocate(block); }

namespace {
struct audio;
using block = tarn::static_size<64>;
using tarn::lifo_reuse;
struct gives_up {
  bool operator()(std::size_t) const noexcept { return false; }
};
}  // namespace

OBJECT(standard, block)
OBJECT(standard_dynamic, tarn::dynamic_size)
OBJECT(standard_resource, block, tarn::resource_store)
OBJECT(standard_pages, block, tarn::page_store<tarn::huge_pages>)
OBJECT(standard_grouped, block, tarn::grouped_locking<audio>)
OBJECT(standard_fixed, block, tarn::fixed_growth<32, 1000>)
OBJECT(standard_array, block, tarn::static_array_store<100>, tarn::batch_reuse<>)
OBJECT(standard_aligned, tarn::static_size<100, 4096>)
OBJECT(unfetched, block, tarn::batch_reuse<tarn::prefetch::none>)

OBJECT(standard_reclaims, block, tarn::reclaim_and_retry<>)
OBJECT(standard_retries, block, tarn::retry_with<gives_up>)
OBJECT(standard_falls_back, block, tarn::fall_back_to<tarn::page_store<>>)

OBJECT(paged, block, tarn::page_local_reuse<>)
OBJECT(paged_pages, block, tarn::page_local_reuse<>, tarn::page_store<tarn::huge_pages>)
OBJECT(returning, block, tarn::return_empty_chunks<>)
OBJECT(returning_dynamic, tarn::dynamic_size, tarn::return_empty_chunks<0, 0>)

OBJECT(lifo, block, lifo_reuse<>)
OBJECT(lifo_dynamic, tarn::dynamic_size, lifo_reuse<>)
OBJECT(lifo_resource, block, lifo_reuse<>, tarn::resource_store)
OBJECT(lifo_pages, block, lifo_reuse<>, tarn::page_store<>)
OBJECT(lifo_grouped, block, lifo_reuse<>, tarn::grouped_locking<audio>)
OBJECT(lifo_array, block, tarn::static_array_store<100>)
OBJECT(lifo_buffer, block, tarn::buffer_store)
OBJECT(lifo_small, tarn::static_size<1>)

OBJECT(cached, block, tarn::thread_cached<>)
OBJECT(cached_resource, block, tarn::thread_cached<>, tarn::resource_store)
OBJECT(cached_lifo, block, tarn::thread_cached<16, 14>, lifo_reuse<>)
OBJECT(cached_returning, block, tarn::thread_cached<>, tarn::return_empty_chunks<>)
OBJECT(cached_64, block, tarn::thread_cached<64>)
STATIC(static_cached, block, tarn::thread_cached<>)

OBJECT(named_standard, block, tarn::named<"orders">)
OBJECT(named_dynamic, tarn::dynamic_size, tarn::run_time_name)
OBJECT(named_paged, block, tarn::page_local_reuse<>, tarn::named<"orders">)
OBJECT(named_lifo, block, lifo_reuse<>, tarn::named<"orders">)
OBJECT(named_cached, block, tarn::thread_cached<>, tarn::named<"orders">)
OBJECT(switched_standard, block, tarn::switchable_checking, tarn::named<"orders">)
OBJECT(switched_lifo, block, lifo_reuse<>, tarn::switchable_checking, tarn::named<"orders">)
OBJECT(switched_cached, block, tarn::thread_cached<>, tarn::switchable_checking, tarn::named<"orders">)

#define BLOCK(name, ...)                                                                             \
  using name = __VA_ARGS__;                                                                          \
  extern "C" void* name##_allocate(name& all) { return all.allocate(40, 8); }                        \
  extern "C" void* name##_try_allocate(name& all) noexcept { return all.try_allocate(40, 8); }       \
  extern "C" void name##_deallocate(name& all, void* block) noexcept { all.deallocate(block, 40, 8); }

BLOCK(segregated, tarn::segregate<64, tarn::pool<block, lifo_reuse<>>, tarn::heap_block>)
BLOCK(segregated_thrice, tarn::by_size<tarn::up_to<64, tarn::pool<block, lifo_reuse<>>>,
                                       tarn::up_to<256, tarn::pool<tarn::static_size<256>>>, tarn::heap_block>)

STATIC(static_standard, block)
STATIC(static_standard_grouped, block, tarn::grouped_locking<audio>)
STATIC(static_lifo, block, lifo_reuse<>)
STATIC(static_lifo_array, block, tarn::static_array_store<100>)

// Blocks of many sizes.
#define SIZED(name, ...)                                                                                      \
  using name = __VA_ARGS__;                                                                                   \
  extern "C" void* name##_allocate(name& p, std::size_t bytes) { return p.allocate(bytes); }                  \
  extern "C" void* name##_try_allocate(name& p, std::size_t bytes) noexcept { return p.try_allocate(bytes); } \
  extern "C" void name##_deallocate(name& p, void* b, std::size_t bytes) noexcept { p.deallocate(b, bytes); }

namespace {
constexpr std::size_t usual = alignof(std::max_align_t);
/// Without the virtual call.
struct resource : tarn::pmr::synchronized_pool_resource {
  void* allocate(std::size_t bytes) { return resource::do_allocate(bytes, usual); }
  void* try_allocate(std::size_t bytes) { return resource::do_allocate(bytes, usual); }
  void deallocate(void* b, std::size_t bytes) { resource::do_deallocate(b, bytes, usual); }
};
/// Freed by address.
template <class Heap>
struct unsized {
  static void* allocate(std::size_t bytes) { return Heap::allocate(bytes); }
  static void* try_allocate(std::size_t bytes) { return Heap::allocate(bytes); }
  static void deallocate(void* b, std::size_t) { Heap::deallocate(b); }
};
}  // namespace

SIZED(sized, tarn::size_class_pool<>)
SIZED(sized_cached, tarn::size_class_pool<tarn::thread_cached<>>)
SIZED(sized_resource, resource)
SIZED(unsized_cached, unsized<tarn::xallocator<struct unsized_tag, tarn::heap_store, tarn::no_statistics>>)

// An arena: a block of a known size, and of one that is known when the program runs.
#define ARENA(name, ...)                                                                       \
  using name = tarn::arena<__VA_ARGS__>;                                                       \
  extern "C" void* name##_allocate(name& a) { return a.allocate<24>(); }                       \
  extern "C" void* name##_try_allocate(name& a) noexcept { return a.try_allocate<24>(); }      \
  extern "C" void name##_deallocate(name& a, void* block) noexcept { a.deallocate(block, 24); }
#define ARENA_SIZED(name, ...)                                                                                     \
  using name = tarn::arena<__VA_ARGS__>;                                                                           \
  extern "C" void* name##_allocate(name& a, std::size_t n) { return a.allocate(n, 8); }                            \
  extern "C" void* name##_try_allocate(name& a, std::size_t n) noexcept { return a.try_allocate(n, 8); }           \
  extern "C" void name##_deallocate(name& a, void* block, std::size_t n) noexcept { a.deallocate(block, n); }

ARENA(bump)
ARENA(bump_pages, tarn::page_store<>)
ARENA(bump_named, tarn::named<"bump">)
ARENA(bump_falls_back, tarn::buffer_store, tarn::fall_back_to<tarn::heap_store>)
ARENA(bump_array, tarn::static_array_store<4096>)
ARENA_SIZED(bump_sized)
ARENA_SIZED(bump_sized_array, tarn::static_array_store<4096>)

// What each module of a process, a program and its DLLs, answers.
#ifndef TARN_TEST_PLATFORMS_WINDOWS_MODULE_H_
#define TARN_TEST_PLATFORMS_WINDOWS_MODULE_H_

#include <cstddef>
#include <cstdint>

#include "tarn/allocator/shared_pool.h"
#include "tarn/policies/locking/thread_cached.h"

namespace tarn::test {

using shared_blocks = static_pool<struct shared_tag, static_size<64>, thread_cached<>, counting_statistics>;
struct shared_thing {
  long number = 7;
  DECLARE_MEMORY_POOL(shared_thing)
};

/// Kinds of pool objects that one module makes and others use.
inline constexpr std::size_t kinds = 4;

struct module_part {
  const void* (*shared_pool)();
  void* (*allocate_shared)();
  void (*free_shared)(void*);
  shared_thing* (*make_thing)();
  std::uint64_t (*thread_number)();
  std::uintptr_t (*secret)();
  const void* (*list)(std::size_t which);
  void* (*make)(std::size_t kind);
  void (*destroy)(std::size_t kind, void* pool);
  void* (*allocate)(std::size_t kind, void* pool);
  void (*free)(std::size_t kind, void* pool, void* block);
  unsigned (*slot)();  // the calling thread's number in this module
};
inline constexpr std::size_t lists = 4;

}  // namespace tarn::test

TARN_DECLARE_SHARED_POOL(tarn::test::shared_blocks);
DECLARE_SHARED_MEMORY_POOL(tarn::test::shared_thing);

#endif  // TARN_TEST_PLATFORMS_WINDOWS_MODULE_H_

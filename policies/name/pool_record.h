// What the registry tells of a pool.
#ifndef TARN_POLICIES_NAME_POOL_RECORD_H_
#define TARN_POLICIES_NAME_POOL_RECORD_H_

#include <cstddef>

#include "tarn/policies/checking/call_site.h"

namespace tarn {

/// A pool at one moment. The texts end with a null.
struct pool_record {
  char name[64] = {};             // the first 63 characters
  char policies[64] = {};         // how it locks, which free block is used next, where chunks come from: without parameters
  const void* address = nullptr;  // of the pool; it may have ended since
  call_site where;                // its declaration, if that is known; valid while the library is loaded that has it
  std::size_t block_size = 0;     // bytes
  std::size_t stride = 0;         // bytes from one block to the next
  std::size_t in_use = 0;         // blocks handed out and not given back
  std::size_t peak = 0;           // the most that were in use at once: never too low; how far too high: docs/registry.md
  std::size_t waiting = 0;        // free blocks in threads' magazines, or on the stack of lock_free
  std::size_t capacity = 0;       // blocks, free or in use
  std::size_t chunks = 0;         // that it holds
  std::size_t bytes_held = 0;     // in those chunks, as the store gave them
  std::size_t growths = 0;        // chunks that it ever got
  std::size_t refused = 0;        // requests for blocks that found none
  bool is_exact = false;          // whether the pool could be looked at. If not, it has no lock and belongs to another thread:
                                  // `in_use` is then the most that it can have been when it last grew or refilled its front
};

/// What became of a call of switch_checks().
struct switched_pools {
  std::size_t switched = 0;  // pools of the name, whose checks are now as they were to be
  std::size_t refused = 0;   // those whose checks can be switched on only at the start: no lock keeps their calls apart
};

}  // namespace tarn

#endif  // TARN_POLICIES_NAME_POOL_RECORD_H_

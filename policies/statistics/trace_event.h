// What a policy with `.hears_events` is told, and a sink of tracing_statistics.
#ifndef TARN_POLICIES_STATISTICS_TRACE_EVENT_H_
#define TARN_POLICIES_STATISTICS_TRACE_EVENT_H_

#include <cstddef>

#include "tarn/policies/platform/standard.h"

namespace tarn {

/// What happened in a pool.
enum class trace_kind : unsigned char {
  allocate = 1,  // a block was handed out
  free = 2,  // a block was given back; told before another call can be handed it
  grow = 3,  // a chunk became the pool's
  give_back = 4,  // a chunk goes back to the store
  refuse = 5,  // an allocation failed: the pool is exhausted. A batch, or a reservation, that falls short fails once
  release = 6,  // all blocks of the pool are free: release(), the clear() of an object pool, or the pool's end
};

/// One event of a pool.
struct trace_event {
  trace_kind kind;  // what happened
  const void* pool;  // what a report of misuse names, too: it tells pools apart
  const void* address;  // of the block or the chunk; null for refuse and release
  std::size_t bytes;  // of the block: its block_size(), for refuse too; of the chunk as the store gave it; 0 for release
};

}  // namespace tarn

#endif  // TARN_POLICIES_STATISTICS_TRACE_EVENT_H_

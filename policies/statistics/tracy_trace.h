// decides    each block is reported to the Tracy profiler
// costs      what Tracy's calls cost: tens of nanoseconds
// conflicts  none
// use when   a program is profiled with Tracy
#ifndef TARN_POLICIES_STATISTICS_TRACY_TRACE_H_
#define TARN_POLICIES_STATISTICS_TRACY_TRACE_H_

#include "tarn/policies/platform/tracy_calls.h"
#include "tarn/policies/statistics.h"

namespace tarn {

/// A sink of tracing_statistics for Tracy, through <tracy/TracyC.h>: blocks are in a memory pool of the profiler, and discarded
/// when the pool releases all of its blocks.
/// \tparam Named  has a static `name`, a const char* that is always valid: the profiler's name of the pool, which only one pool
///                has
template <class Named, class Calls = platform::tracy_calls<>>
struct tracy_trace {
  static constexpr bool arguments_hold = Calls::are_here;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [D6] tracy_trace was used, but <tracy/TracyC.h> with TracyCAllocN, TracyCFreeN and "
                  "TracyCMemoryDiscard wasn't found; add Tracy's public folder to the include path, or use another sink");
  };

  /// Reports a block, or a release, to Tracy.
  static void on_event(const trace_event& event) noexcept {
    if (event.kind == trace_kind::allocate) Calls::allocate(event.address, event.bytes, Named::name);
    else if (event.kind == trace_kind::free) (Calls::free)(event.address, Named::name);
    else if (event.kind == trace_kind::release) Calls::discard(Named::name);
  }
};

}  // namespace tarn

#endif  // TARN_POLICIES_STATISTICS_TRACY_TRACE_H_

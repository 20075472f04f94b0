// decides    the Tracy profiler is told of each block
// costs      what Tracy's calls cost: tens of nanoseconds
// conflicts  none
// use when   a program is looked at with Tracy
#ifndef TARN_POLICIES_STATISTICS_TRACY_TRACE_H_
#define TARN_POLICIES_STATISTICS_TRACY_TRACE_H_

#include "tarn/policies/platform/tracy_calls.h"
#include "tarn/policies/statistics.h"

namespace tarn {

/// A sink of tracing_statistics for Tracy, by its <tracy/TracyC.h>: blocks are a memory pool of the profiler's, and
/// discarded when the pool's are released.
/// \tparam Named  has a static `name`, a const char* that never ends: the profiler's name of the pool. One pool has it
template <class Named, class Calls = platform::tracy_calls<>>
struct tracy_trace {
  static constexpr bool arguments_hold = Calls::are_here;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [D6] tracy_trace was named, but <tracy/TracyC.h> with TracyCAllocN, TracyCFreeN and "
                  "TracyCMemoryDiscard isn't here; add Tracy's public folder to the include path, or name another sink");
  };

  /// Tells Tracy of a block, or of a release.
  static void on_event(const trace_event& event) noexcept {
    if (event.kind == trace_kind::allocate) Calls::allocate(event.address, event.bytes, Named::name);
    else if (event.kind == trace_kind::free) (Calls::free)(event.address, Named::name);
    else if (event.kind == trace_kind::release) Calls::discard(Named::name);
  }
};

}  // namespace tarn

#endif  // TARN_POLICIES_STATISTICS_TRACY_TRACE_H_

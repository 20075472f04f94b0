// decides    heaptrack, where the program runs under it, is told of each block
// costs      a load and a predicted branch for each block; under heaptrack, what it costs for each malloc: it unwinds the stack
// conflicts  none
// use when   a program is looked at with heaptrack, which would otherwise see chunks only
#ifndef TARN_POLICIES_STATISTICS_HEAPTRACK_TRACE_H_
#define TARN_POLICIES_STATISTICS_HEAPTRACK_TRACE_H_

#include <cstddef>

#include "tarn/policies/platform/looked_up.h"
#include "tarn/policies/statistics/trace_event.h"
#include "tarn/policies/statistics/tracing_statistics.h"

namespace tarn {

namespace detail {
/// \tparam Target  this one: whether heaptrack is there is asked where the sink is named
template <class Target>
struct heaptrack_sink {
  static constexpr bool arguments_hold = platform::looks_up<Target>;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [D7] heaptrack_trace was named, but heaptrack runs on Linux only; name another sink on this target");
  };

  /// Tells heaptrack of a block.
  static void on_event(const trace_event& event) noexcept {
    if (event.kind == trace_kind::allocate) {
      if (auto* const tell = allocated_.get()) tell(const_cast<void*>(event.address), event.bytes);
    } else if (event.kind == trace_kind::free) {
      if (auto* const tell = freed_.get()) tell(const_cast<void*>(event.address));
    }
  }

 private:
  static inline constinit platform::looked_up<void (*)(void*, std::size_t)> allocated_{"heaptrack_malloc"};
  static inline constinit platform::looked_up<void (*)(void*)> freed_{"heaptrack_free"};
};
}  // namespace detail

/// A sink of tracing_statistics for heaptrack: what <heaptrack_api.h> does, without it. Blocks that are released all at once
/// stay in use as heaptrack sees it. The chunks of heap_store come from malloc, and are told besides: name page_store<> to see
/// blocks only.
struct heaptrack_trace : detail::heaptrack_sink<void> {};

}  // namespace tarn

#endif  // TARN_POLICIES_STATISTICS_HEAPTRACK_TRACE_H_

// decides    each event is a probe of the program, to which bpftrace, perf or SystemTap can attach while it runs
// costs      a no-op instruction for each probe, and its arguments, while no tracer is attached
// conflicts  none
// use when   a program in production should be observed from outside, occasionally
#ifndef TARN_POLICIES_STATISTICS_USDT_TRACE_H_
#define TARN_POLICIES_STATISTICS_USDT_TRACE_H_

#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/usdt_probes.h"
#include "tarn/policies/statistics.h"

namespace tarn {

namespace detail {
template <class Probes>
struct usdt_sink {
  static constexpr bool arguments_hold = Probes::are_here;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [D5] usdt_trace was used, but <sys/sdt.h>, which defines the probes, wasn't found; install it "
                  "(Debian: systemtap-sdt-dev), or use another sink");
  };

  TARN_STEP static void on_event(const trace_event& event) noexcept {
    switch (event.kind) {
      case trace_kind::allocate:
        return Probes::allocate(event.pool, event.address, event.bytes);
      case trace_kind::free:
        return (Probes::free)(event.pool, event.address, event.bytes);
      case trace_kind::grow:
        return Probes::grow(event.pool, event.address, event.bytes);
      case trace_kind::give_back:
        return Probes::give_back(event.pool, event.address, event.bytes);
      case trace_kind::refuse:
        return Probes::refuse(event.pool, event.bytes);
      case trace_kind::release:
        return Probes::release(event.pool);
    }
  }
};
}  // namespace detail

/// A sink of tracing_statistics: the probes tarn:alloc, tarn:free, tarn:grow and tarn:give_back (pool, address, bytes),
/// tarn:refuse (pool, bytes), tarn:release (pool), otel_memory:alloc (address, bytes) and otel_memory:free (address).
struct usdt_trace : detail::usdt_sink<platform::usdt_probes<>> {};

}  // namespace tarn

#endif  // TARN_POLICIES_STATISTICS_USDT_TRACE_H_

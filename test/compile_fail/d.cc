// D: parameters of statistics policies.
#include "tarn/allocator/pool.h"
#include "tarn/policies/statistics/trace_ring.h"
#include "tarn/policies/statistics/sampled_trace.h"

// case d1_sink_that_may_throw: tarn: [D1] tracing_statistics was given a sink without a static on_event(const trace_event&)
struct throws {
  static void on_event(const tarn::trace_event&) {}
};
struct hears {
  static void on_event(const tarn::trace_event&) noexcept {}
};
RIGHT(tarn::pool<tarn::static_size<64>, tarn::tracing_statistics<hears>> right;
      void use() { right.deallocate(right.allocate()); })
WRONG(tarn::pool<tarn::static_size<64>, tarn::tracing_statistics<throws>> wrong;
      void use() { wrong.deallocate(wrong.allocate()); })

// case d2_counts_with_a_lock
// expect: tarn: [D2] tracing_statistics was given a second argument that isn't a statistics policy, or that traces itself
struct hears {
  static void on_event(const tarn::trace_event&) noexcept {}
};
RIGHT(tarn::pool<tarn::static_size<64>, tarn::tracing_statistics<hears, tarn::counting_statistics>> right;
      void use() { right.deallocate(right.allocate()); })
WRONG(tarn::pool<tarn::static_size<64>, tarn::tracing_statistics<hears, tarn::no_locking>> wrong;
      void use() { wrong.deallocate(wrong.allocate()); })

// case d3_ring_of_1000
// expect: tarn: [D3] trace_ring was given a number of events that isn't a power of two or is under 64, or 0 threads
RIGHT(tarn::pool<tarn::static_size<64>, tarn::tracing_statistics<tarn::trace_ring<1024>>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::tracing_statistics<tarn::trace_ring<1000>>> wrong;)

// case d4_mean_of_nothing
// expect: tarn: [D4] sampled_trace was given a mean of 0 bytes, or a number of blocks that isn't a power of two
RIGHT(tarn::pool<tarn::static_size<64>, tarn::tracing_statistics<tarn::sampled_trace<tarn::trace_ring<>, 4096>>> right;)
WRONG(tarn::pool<tarn::static_size<64>, tarn::tracing_statistics<tarn::sampled_trace<tarn::trace_ring<>, 0>>> wrong;)

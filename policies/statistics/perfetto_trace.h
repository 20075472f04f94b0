// decides    Perfetto's heap profiler is told of each block, as of a heap with a name
// costs      a load and a predicted branch for each block where the profiler isn't in the process; else a call, which samples
// conflicts  none
// use when   a program is looked at with Perfetto, under Android or with its libraries on Linux
#ifndef TARN_POLICIES_STATISTICS_PERFETTO_TRACE_H_
#define TARN_POLICIES_STATISTICS_PERFETTO_TRACE_H_

#include <cstdint>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/looked_up.h"
#include "tarn/policies/statistics/trace_event.h"
#include "tarn/policies/statistics/tracing_statistics.h"

namespace tarn {

/// A sink of tracing_statistics for heapprofd: a custom heap of Perfetto's <perfetto/heap_profile.h>, without that. Blocks that
/// are released all at once stay in use as Perfetto sees it.
/// \tparam Named  has a static `name`, a const char* of at most 63 characters: the heap's. Pools with one name are one heap
template <class Named>
struct perfetto_trace {
  static constexpr bool arguments_hold = platform::looks_up<Named>;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [D7] perfetto_trace was named, but Perfetto's heap profiler runs on Linux and Android only; name "
                  "another sink on this target");
  };

  /// Tells Perfetto of a block.
  static void on_event(const trace_event& event) noexcept {
    if (event.kind == trace_kind::allocate) {
      if (auto* const tell = allocated_.get()) tell(heap(), detail::address_of(event.address), event.bytes);
    } else if (event.kind == trace_kind::free) {
      if (auto* const tell = freed_.get()) tell(heap(), detail::address_of(event.address));
    }
  }

 private:
  struct info;  // AHeapInfo

  /// The number of the heap, which the first event makes known.
  TARN_STEP static std::uint32_t heap() noexcept {
    const std::uint32_t known = heap_.load(detail::memory_order_acquire);
    return known != 0 ? known - 1 : make_heap();
  }
  /// Where two threads come here at once, Perfetto has a second heap of the name, with nothing in it.
  TARN_COLD static std::uint32_t make_heap() noexcept {
    auto* const create = create_.get();
    auto* const enter = enter_.get();
    const std::uint32_t made = create == nullptr || enter == nullptr ? 0 : enter(create(Named::name));
    std::uint32_t before = 0;
    return heap_.compare_exchange_strong(before, made + 1, detail::memory_order_acq_rel) ? made : before - 1;
  }

  static inline constinit platform::looked_up<info* (*)(const char*)> create_{"AHeapInfo_create"};
  static inline constinit platform::looked_up<std::uint32_t (*)(info*)> enter_{"AHeapProfile_registerHeap"};
  static inline constinit platform::looked_up<bool (*)(std::uint32_t, std::uint64_t, std::uint64_t)> allocated_{
      "AHeapProfile_reportAllocation"};
  static inline constinit platform::looked_up<void (*)(std::uint32_t, std::uint64_t)> freed_{"AHeapProfile_reportFree"};
  static inline constinit detail::atomic_word<std::uint32_t> heap_ = 0;  // its number, and one more
};

}  // namespace tarn

#endif  // TARN_POLICIES_STATISTICS_PERFETTO_TRACE_H_

// The policy that reports each event of a pool to a sink, what it requires of a sink, and the sinks for profilers in the
// process: Perfetto's and heaptrack. Others: trace_ring.h, sampled_trace.h, tracy_trace.h, usdt_trace.h.
#ifndef TARN_POLICIES_STATISTICS_TRACING_STATISTICS_H_
#define TARN_POLICIES_STATISTICS_TRACING_STATISTICS_H_

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"
#include "tarn/policies/statistics.h"

namespace tarn {

/// What tracing_statistics requires of a sink:
///   static void on_event(const trace_event&) noexcept
/// It is called by the thread that calls the pool, often with the pool's lock held; with thread_cached and lock_free, by many
/// threads at the same time. It must not call the pool or allocate from it. Optional members:
///   template <class Traits> struct state          constexpr; a member of each pool, whose on_event() is called instead
///   arguments_hold, struct complaint              as a policy has them
template <class S>
concept trace_sink = requires(const trace_event& event) {
  { S::on_event(event) } noexcept -> std::same_as<void>;
};

namespace detail {
/// What a sink keeps in each pool: its `state<Traits>`, if it has one, whose on_event() is called instead.
template <class Sink, class Traits>
struct sink_state {
  TARN_STEP static void on_event(const trace_event& event) noexcept { Sink::on_event(event); }
};
template <class Sink, class Traits>
  requires requires { typename template_name<Sink::template state>; }
struct sink_state<Sink, Traits> : Sink::template state<Traits> {};

/// Whether a sink's own arguments are valid, as for a policy, and its message if not.
template <class S>
inline constexpr bool sink_arguments_hold = true;
template <class S>
  requires requires { S::arguments_hold; }
inline constexpr bool sink_arguments_hold<S> = S::arguments_hold;
template <class S>
struct sink_complaint {};
template <class S>
  requires(!sink_arguments_hold<S>)
struct sink_complaint<S> : S::complaint {};

template <class P>
concept counts_beside = policy_on<P, axis::statistics> && requires { requires !P::traits.hears_events; };
}  // namespace detail

// decides    a sink is notified of every block and chunk, with its address, and of refusals
// costs      what the sink costs: trace_ring keeps events in memory, sampled_trace gets a few; figures are in
//            docs/how-to/trace.md
// conflicts  none
// use when   a program's allocations should be recorded and replayed, or shown in a tool for allocations
/// \tparam Sink   is notified of each event
/// \tparam Inner  the statistics policy that also counts, such as counting_statistics
template <class Sink, class Inner = no_statistics>
struct tracing_statistics {
  using axis = tarn::axis::statistics;
  static constexpr bool arguments_hold = trace_sink<Sink> && detail::sink_arguments_hold<Sink> && detail::counts_beside<Inner>;
  struct complaint : detail::sink_complaint<Sink> {
    static_assert(
        trace_sink<Sink>,
        "tarn: [D1] tracing_statistics was given a sink without a static on_event(const trace_event&) that is noexcept and "
        "returns void; add it, or use trace_ring<>");
    static_assert(
        arguments_hold || detail::counts_beside<Inner>,
        "tarn: [D2] tracing_statistics was given a second argument that isn't a statistics policy, or that traces itself; "
        "write counting_statistics there, or nothing");
  };
  static constexpr statistics_traits traits{.counts = Inner::traits.counts,
                                            .can_try = Inner::traits.can_try,
                                            .hears_release = Inner::traits.hears_release,
                                            .hears_events = true};

  template <class Traits>
  class state : public Inner::template state<Traits> {
   public:
    constexpr explicit state(const tracing_statistics&) noexcept : Inner::template state<Traits>(Inner{}) {}
    TARN_STEP void on_event(const trace_event& event) noexcept { sink_.on_event(event); }

   private:
    TARN_NO_UNIQUE_ADDRESS detail::sink_state<Sink, Traits> sink_;
  };
};

// decides    each block is reported to Perfetto's heap profiler, as part of a named heap
// costs      a load and a predicted branch for each block if the profiler isn't in the process; otherwise a call, which samples
// conflicts  none
// use when   a program is profiled with Perfetto, under Android or with its libraries on Linux
/// A sink of tracing_statistics for heapprofd: a custom heap of Perfetto's <perfetto/heap_profile.h>, without needing that
/// header. In Perfetto, blocks that are released together stay in use.
/// \tparam Named  has a static `name`, a const char* of at most 63 characters: the heap's. Pools with the same name are one
///                heap
template <class Named>
struct perfetto_trace {
  static constexpr bool arguments_hold = platform::looks_up<Named>;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [D7] perfetto_trace was used, but Perfetto's heap profiler runs only on Linux and Android; use "
                  "another sink on this target");
  };

  /// Reports a block to Perfetto.
  static void on_event(const trace_event& event) noexcept {
    if (event.kind == trace_kind::allocate) {
      if (auto* const tell = allocated_.get()) tell(heap(), detail::address_of(event.address), event.bytes);
    } else if (event.kind == trace_kind::free) {
      if (auto* const tell = freed_.get()) tell(heap(), detail::address_of(event.address));
    }
  }

 private:
  struct info;  // AHeapInfo

  /// The number of the heap, which the first event registers.
  TARN_STEP static std::uint32_t heap() noexcept {
    const std::uint32_t known = heap_.load(detail::memory_order_acquire);
    return known != 0 ? known - 1 : make_heap();
  }
  /// If two threads come here at the same time, Perfetto has a second, empty heap of that name.
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
  // Order: load acquire, exchange acquire and release. The heap is registered before its number is used.
  static inline constinit detail::atomic_word<std::uint32_t> heap_ = 0;  // its number, and one more
};

namespace detail {
/// \tparam Target  this one: the target is checked where the sink is used
template <class Target>
struct heaptrack_sink {
  static constexpr bool arguments_hold = platform::looks_up<Target>;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [D7] heaptrack_trace was used, but heaptrack runs only on Linux; use another sink on this target");
  };

  /// Reports a block to heaptrack.
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

// decides    each block is reported to heaptrack, if the program runs under it
// costs      a load and a predicted branch for each block; under heaptrack as much as a malloc, because it unwinds the stack
// conflicts  none
// use when   a program is profiled with heaptrack, which would otherwise see only chunks
/// A sink of tracing_statistics for heaptrack: does what <heaptrack_api.h> does, without needing that header. In heaptrack,
/// blocks that are released together stay in use. The chunks of heap_store come from malloc, and are reported as well; use
/// page_store<> to see only blocks.
struct heaptrack_trace : detail::heaptrack_sink<void> {};

}  // namespace tarn

#endif  // TARN_POLICIES_STATISTICS_TRACING_STATISTICS_H_

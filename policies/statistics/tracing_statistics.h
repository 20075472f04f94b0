// decides    a sink hears of every block and chunk, with its address, and of refusals
// costs      what the sink costs: trace_ring keeps events in memory, sampled_trace hears some, docs/how-to/trace.md has figures
// conflicts  none
// use when   a program's allocations shall be recorded and replayed, or shown by a tool that watches allocations
#ifndef TARN_POLICIES_STATISTICS_TRACING_STATISTICS_H_
#define TARN_POLICIES_STATISTICS_TRACING_STATISTICS_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/platform/config.h"
#include "tarn/policies/statistics.h"

namespace tarn {

/// What tracing_statistics needs of a sink:
///   static void on_event(const trace_event&) noexcept
/// It is called by the thread that calls the pool, often with the pool's lock held, under thread_cached and lock_free by many
/// threads at once. It must not call the pool, nor allocate from what is made of it; whatever it waits for, the pool waits for.
/// A sink may have, too:
///   template <class Traits> struct state          constexpr; lies in each pool, and its on_event() is called instead
///   arguments_hold, struct complaint              as a policy has them
template <class S>
concept trace_sink = requires(const trace_event& event) {
  { S::on_event(event) } noexcept -> std::same_as<void>;
};

namespace detail {
/// What a sink keeps in each pool: `state<Traits>`, if it has that, whose on_event() is called instead.
template <class Sink, class Traits>
struct sink_state {
  TARN_STEP static void on_event(const trace_event& event) noexcept { Sink::on_event(event); }
};
template <class Sink, class Traits>
  requires requires { typename template_name<Sink::template state>; }
struct sink_state<Sink, Traits> : Sink::template state<Traits> {};

/// Whether a sink's own arguments are valid, as for a policy, and its sentence where not.
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

/// \tparam Sink   hears each event
/// \tparam Inner  the statistics policy that counts besides, as counting_statistics
template <class Sink, class Inner = no_statistics>
struct tracing_statistics {
  using axis = tarn::axis::statistics;
  static constexpr bool arguments_hold = trace_sink<Sink> && detail::sink_arguments_hold<Sink> && detail::counts_beside<Inner>;
  struct complaint : detail::sink_complaint<Sink> {
    static_assert(
        trace_sink<Sink>,
        "tarn: [D1] tracing_statistics was given a sink without a static on_event(const trace_event&) that is noexcept "
        "and returns void; add it, or name trace_ring<>");
    static_assert(
        arguments_hold || detail::counts_beside<Inner>,
        "tarn: [D2] tracing_statistics was given something to count with that is no statistics policy, or that traces "
        "itself; write counting_statistics there, or nothing");
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

}  // namespace tarn

#endif  // TARN_POLICIES_STATISTICS_TRACING_STATISTICS_H_

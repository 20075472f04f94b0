// decides    a sink hears of every block and chunk, with its address, and of refusals
// costs      what the sink costs: trace_ring keeps events in memory, sampled_trace hears some, docs/how-to/trace.md has figures
// conflicts  none
// use when   a program's allocations shall be recorded and replayed, or shown by a tool that watches allocations
#ifndef TARN_POLICIES_STATISTICS_TRACING_STATISTICS_H_
#define TARN_POLICIES_STATISTICS_TRACING_STATISTICS_H_

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/policies/platform/atomic_word.h"
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
        detail::counts_beside<Inner>,
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

// decides    a sink hears of some blocks: on average one for each so many bytes allocated, and of the frees of those
// costs      8 KiB; docs/how-to/trace.md has the time of a pair of calls
// conflicts  none
// use when   a program in production shall tell where its memory goes, as heap profilers do
/// A sink of tracing_statistics that passes on some blocks, chosen by chance: each byte allocated is chosen with the same
/// chance, 1 in MeanBytes, and with a byte its block. A block of b bytes is thus chosen with a chance of
/// 1 - exp(-b / MeanBytes); divide by that to estimate how many there are. Events that are no blocks are all passed on.
/// \tparam Sink       hears them
/// \tparam MeanBytes  between two samples, on average
/// \tparam Live       how many chosen blocks can be in use at once, a power of two: each has its place by its address. One
///                    whose place is taken isn't chosen after all; missed() counts them
template <class Sink, std::size_t MeanBytes = 512 * 1024, std::size_t Live = 1024>
class sampled_trace {
  static constexpr int bits = std::countr_zero(Live);

 public:
  static constexpr bool arguments_hold =
      trace_sink<Sink> && detail::sink_arguments_hold<Sink> && MeanBytes != 0 && Live >= 2 && (Live & (Live - 1)) == 0;
  struct complaint : detail::sink_complaint<Sink> {
    static_assert(
        trace_sink<Sink>,
        "tarn: [D1] sampled_trace was given a sink without a static on_event(const trace_event&) that is noexcept and "
        "returns void; add it, or name trace_ring<>");
    static_assert(!trace_sink<Sink> || !detail::sink_arguments_hold<Sink> || arguments_hold,
                  "tarn: [D4] sampled_trace was given a mean of no bytes, or a number of blocks that is no power of two; write "
                  "sampled_trace<trace_ring<>>");
  };

  /// Passes the event on, or not.
  TARN_STEP static void on_event(const trace_event& event) noexcept { hear(event, left_); }

  /// What lies in a pool: the bytes to its next sample, which is faster than the thread's, where calls change it one at a time.
  template <class Traits>
  class state {
    using bytes = typename Traits::template cell<std::int64_t>;
    static constexpr bool counts_here = std::is_same_v<bytes, std::int64_t>;
    struct nothing {};

   public:
    TARN_STEP void on_event(const trace_event& event) noexcept {
      if constexpr (counts_here) hear(event, left_);
      else hear(event, sampled_trace::left_);
    }

   private:
    TARN_NO_UNIQUE_ADDRESS std::conditional_t<counts_here, std::int64_t, nothing> left_{};
  };

  /// Returns how many blocks were chosen, and not passed on because another one had their place.
  static std::uint64_t missed() noexcept { return missed_.load(detail::memory_order_relaxed); }

 private:
  TARN_STEP static void hear(const trace_event& event, std::int64_t& left) noexcept {
    if (event.kind == trace_kind::allocate) {
      if ((left -= static_cast<std::int64_t>(event.bytes)) <= 0) [[unlikely]]
        choose(event.pool, event.address, event.bytes, left);
    } else if (event.kind == trace_kind::free) {
      if (place_of(event.address).load(detail::memory_order_relaxed) == number_of(event.address)) [[unlikely]]
        let_go(event.pool, event.address, event.bytes);
    } else {
      pass_on(event.kind, event.pool, event.address, event.bytes);
    }
  }
  static std::uintptr_t number_of(const void* address) noexcept { return reinterpret_cast<std::uintptr_t>(address); }
  TARN_STEP static detail::atomic_word<std::uintptr_t>& place_of(const void* address) noexcept {
    const std::uint64_t mixed = std::uint64_t{number_of(address)} * 0x9e3779b97f4a7c15u;
    return live_[mixed >> (64 - bits)];
  }

  // What these take are the members of an event: an event would lie in memory, and be written for each call of the pool.

  /// `left`: 0 before the first allocation, and never after one.
  TARN_COLD static void choose(const void* pool, const void* address, std::size_t bytes, std::int64_t& left) noexcept {
    if (left == -static_cast<std::int64_t>(bytes)) left += distance();
    if (left > 0) return;
    while (left <= 0) left += distance();  // several samples may fall into one block
    auto& place = place_of(address);
    std::uintptr_t none = 0;
    if (!place.compare_exchange_strong(none, number_of(address), detail::memory_order_relaxed)) {
      missed_.fetch_add(1, detail::memory_order_relaxed);
      return;
    }
    pools_[&place - live_].store(number_of(pool), detail::memory_order_relaxed);
    Sink::on_event({trace_kind::allocate, pool, address, bytes});
  }
  TARN_COLD static void let_go(const void* pool, const void* address, std::size_t bytes) noexcept {
    place_of(address).store(0, detail::memory_order_relaxed);
    Sink::on_event({trace_kind::free, pool, address, bytes});
  }
  TARN_COLD static void pass_on(trace_kind kind, const void* pool, const void* address, std::size_t bytes) noexcept {
    if (kind == trace_kind::release) forget(pool);
    Sink::on_event({kind, pool, address, bytes});
  }
  TARN_COLD static void forget(const void* pool) noexcept {
    for (std::size_t i = 0; i != Live; ++i)
      if (pools_[i].load(detail::memory_order_relaxed) == number_of(pool)) live_[i].store(0, detail::memory_order_relaxed);
  }

  /// Bytes to the next sample, with an exponential distribution.
  static std::int64_t distance() noexcept {
    if (random_ == 0) random_ = (seeds_.fetch_add(1, detail::memory_order_relaxed) + 1) * 0x9e3779b97f4a7c15u;
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    const double chance = static_cast<double>((random_ >> 11) + 1) * 0x1p-53;  // above 0, at most 1
    return static_cast<std::int64_t>(-std::log(chance) * static_cast<double>(MeanBytes)) + 1;
  }

  static inline constinit thread_local std::int64_t left_ = 0;  // where none in the pool can be
  static inline constinit thread_local std::uint64_t random_ = 0;
  static inline constinit detail::atomic_word<std::uint64_t> seeds_ = 0;
  static inline constinit detail::atomic_word<std::uint64_t> missed_ = 0;
  static inline constinit detail::atomic_word<std::uintptr_t> live_[Live]{};
  static inline constinit detail::atomic_word<std::uintptr_t> pools_[Live]{};
};

}  // namespace tarn

#endif  // TARN_POLICIES_STATISTICS_TRACING_STATISTICS_H_

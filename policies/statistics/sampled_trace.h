// decides    a sink is notified of some blocks, on average one for each MeanBytes bytes allocated, and when they are freed
// costs      8 KiB; docs/how-to/trace.md lists the time of a pair of calls
// conflicts  none
// use when   a program in production should show where its memory goes, as heap profilers do
#ifndef TARN_POLICIES_STATISTICS_SAMPLED_TRACE_H_
#define TARN_POLICIES_STATISTICS_SAMPLED_TRACE_H_

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/statistics.h"

namespace tarn {

/// A sink of tracing_statistics that passes on random blocks. Each byte allocated is chosen with a probability of
/// 1 / MeanBytes, and its block with it. So a block of b bytes is chosen with a probability of 1 - exp(-b / MeanBytes); divide
/// by that to estimate how many there are. Events that aren't blocks are all passed on.
/// \tparam Sink       is notified of them
/// \tparam MeanBytes  between two samples, on average
/// \tparam Live       how many chosen blocks can be in use at the same time, a power of two. The address determines the place
///                    of each; if the place is taken, the block isn't chosen, and missed() counts it
template <class Sink, std::size_t MeanBytes = 512 * 1024, std::size_t Live = 1024>
class sampled_trace {
  static constexpr int bits = std::countr_zero(Live);

 public:
  static constexpr bool arguments_hold =
      trace_sink<Sink> && detail::sink_arguments_hold<Sink> && MeanBytes != 0 && Live >= 2 && (Live & (Live - 1)) == 0;
  struct complaint : detail::sink_complaint<Sink> {
    static_assert(
        trace_sink<Sink>,
        "tarn: [D1] sampled_trace was given a sink without a static on_event(const trace_event&) that is noexcept and returns "
        "void; add it, or use trace_ring<>");
    static_assert(!trace_sink<Sink> || !detail::sink_arguments_hold<Sink> || arguments_hold,
                  "tarn: [D4] sampled_trace was given a mean of 0 bytes, or a number of blocks that isn't a power of two; "
                  "write sampled_trace<trace_ring<>>");
  };

  /// Passes the event on, or not.
  TARN_STEP static void on_event(const trace_event& event) noexcept { hear(event, left_); }

  /// Stored in a pool whose calls change it one at a time: the bytes to its next sample, which is faster than a thread's.
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

  /// Returns how many chosen blocks weren't passed on because another one had their place.
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

  // These take the members of an event, because an event would be in memory, and be written for each call of the pool.

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

  static inline constinit thread_local std::int64_t left_ = 0;  // used if the pool can't have one
  static inline constinit thread_local std::uint64_t random_ = 0;
  // Order: relaxed; numbers. A block's place is written before the block is passed to the thread that frees it.
  static inline constinit detail::atomic_word<std::uint64_t> seeds_ = 0;
  static inline constinit detail::atomic_word<std::uint64_t> missed_ = 0;
  static inline constinit detail::atomic_word<std::uintptr_t> live_[Live]{};
  static inline constinit detail::atomic_word<std::uintptr_t> pools_[Live]{};
};

}  // namespace tarn

#endif  // TARN_POLICIES_STATISTICS_SAMPLED_TRACE_H_

// Axis statistics: what is counted, and where events are reported.
//
// Here: statistics_traits, trace_event, no_statistics, counting_statistics, statistics_policy; tracing_statistics, which
// reports each event to a sink, what it requires of a sink, and the sinks for profilers in the process: Perfetto's and
// heaptrack. In separate headers, more sinks: trace_ring, sampled_trace, tracy_trace, usdt_trace.
#ifndef TARN_POLICIES_STATISTICS_H_
#define TARN_POLICIES_STATISTICS_H_

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"

namespace tarn {

/// What a statistics policy declares about itself.
struct statistics_traits {
  bool counts = false;         // read(): what statistics() of the pool returns
  bool hears_blocks = true;    // on_allocate() and on_deallocate() have an effect
  bool can_try = false;        // try_on_allocate(), try_on_deallocate(): whether a hit was counted; if not, the others count it
  bool hears_release = false;  // on_release(): all blocks are released, including those in use
  bool hears_events = false;   // on_event(): each block and chunk with its address, refusals, and the release of all blocks
};

/// What happened in a pool.
enum class trace_kind : unsigned char {
  allocate = 1,  // a block was allocated
  free = 2,  // a block was freed; reported before another call can allocate it
  grow = 3,  // the pool got a chunk
  give_back = 4,  // a chunk goes back to the store
  refuse = 5,  // an allocation failed: the pool is exhausted. An incomplete batch or reservation counts once
  release = 6,  // all blocks of the pool are free: release(), the clear() of an object pool, or the pool's destructor
};

/// One event of a pool.
struct trace_event {
  trace_kind kind;  // what happened
  const void* pool;  // identifies the pool, as in a report of misuse
  const void* address;  // of the block or the chunk; null for refuse and release
  std::size_t bytes;  // of the block: its block_size(), also for refuse; of the chunk as the store returned it; 0 for release
};

/// What a pool with counting_statistics has counted since it was created.
struct pool_counts {
  std::size_t in_use = 0;  // blocks that were allocated and not freed
  std::size_t peak = 0;  // the most blocks that were in use at the same time
  std::size_t allocations = 0;  // all blocks that were ever allocated
  std::size_t chunks = 0;  // that the pool holds
  std::size_t bytes = 0;  // in those chunks, as the store gave them
};

namespace detail {
/// A number that hooks change outside all locks. Each change is atomic and relaxed.
template <class T>
class shared_cell {
 public:
  constexpr shared_cell(T value) noexcept : value_(value) {}

  TARN_STEP operator T() const noexcept { return value_.load(memory_order_relaxed); }
  TARN_STEP void operator=(T value) noexcept { value_.store(value, memory_order_relaxed); }
  TARN_STEP void operator+=(T more) noexcept { value_.fetch_add(more, memory_order_relaxed); }
  TARN_STEP void operator-=(T less) noexcept { value_.fetch_sub(less, memory_order_relaxed); }

  TARN_STEP void raise_to(T value) noexcept {
    T seen = *this;
    while (seen < value && !value_.compare_exchange_weak(seen, value, memory_order_relaxed)) {}
  }

 private:
  // Order: relaxed; a number. No change is lost, because each is a read-modify-write.
  atomic_word<T> value_;
};

/// Raises a number to at least `value`, whether one thread at a time changes it or several.
template <class T>
constexpr void raise(T& cell, T value) noexcept {
  if (cell < value) cell = value;
}
template <class T>
void raise(shared_cell<T>& cell, T value) noexcept {
  cell.raise_to(value);
}

/// Counts blocks in cells of the locking policy, which every call changes.
/// \tparam Cell  a number that is safe to change where a hit does
template <class Cell>
class cell_tally {
 public:
  TARN_STEP constexpr void add(std::size_t blocks) noexcept {
    allocations_ += blocks;
    in_use_ += blocks;
    detail::raise(peak_, static_cast<std::size_t>(in_use_));
  }
  TARN_STEP constexpr void subtract(std::size_t blocks) noexcept { in_use_ -= blocks; }
  TARN_STEP constexpr bool try_add() noexcept { return add(1), true; }
  TARN_STEP constexpr bool try_subtract() noexcept { return subtract(1), true; }
  constexpr void settle() noexcept { in_use_ = 0; }

  constexpr std::size_t in_use() const noexcept { return in_use_; }
  constexpr std::size_t peak() const noexcept { return peak_; }
  constexpr std::size_t allocations() const noexcept { return allocations_; }

 private:
  Cell in_use_ = 0;
  Cell peak_ = 0;
  Cell allocations_ = 0;
};

/// The locking policy's own way to count blocks, if it has one.
template <class Locking, bool HasOwn>
struct tally_of {
  using type = cell_tally<typename Locking::template cell<std::size_t>>;
};
template <class Locking>
struct tally_of<Locking, true> {
  using type = typename Locking::tally;
};
}  // namespace detail

// decides    nothing is counted
// costs      nothing; one counter in memory makes a pair of calls take 2.5 times as long
// conflicts  none
// use when   the figures aren't needed (the default)
struct no_statistics {
  using axis = tarn::axis::statistics;
  static constexpr statistics_traits traits{.hears_blocks = false};

  template <class Traits>
  struct state {
    static constexpr bool counts = false;
    constexpr explicit state(const no_statistics&) noexcept {}
    TARN_STEP constexpr void on_allocate(std::size_t) noexcept {}
    TARN_STEP constexpr void on_deallocate(std::size_t) noexcept {}
    constexpr void on_chunk(std::size_t) noexcept {}
    constexpr void off_chunk(std::size_t) noexcept {}
  };
};

// decides    blocks in use, their peak, allocations, chunks and their bytes are counted
// costs      five counters in the pool; a pair of calls takes about 2.5 times as long, with thread_cached 0.7 ns longer
// conflicts  none
// use when   a pool must be sized, monitored or accounted for
struct counting_statistics {
  using axis = tarn::axis::statistics;
  static constexpr statistics_traits traits{.counts = true, .can_try = true, .hears_release = true};

  template <class Traits>
  class state {
    template <class T>
    using cell = typename Traits::template cell<T>;

   public:
    static constexpr bool counts = true;
    constexpr explicit state(const counting_statistics&) noexcept {}

    TARN_STEP constexpr void on_allocate(std::size_t blocks) noexcept { blocks_.add(blocks); }
    TARN_STEP constexpr void on_deallocate(std::size_t blocks) noexcept { blocks_.subtract(blocks); }
    TARN_STEP constexpr bool try_on_allocate() noexcept { return blocks_.try_add(); }
    TARN_STEP constexpr bool try_on_deallocate() noexcept { return blocks_.try_subtract(); }
    constexpr void on_chunk(std::size_t bytes) noexcept {
      chunks_ += 1;
      bytes_ += bytes;
    }
    constexpr void off_chunk(std::size_t bytes) noexcept {
      chunks_ -= 1;
      bytes_ -= bytes;
    }
    constexpr void on_release() noexcept { blocks_.settle(); }

    constexpr pool_counts read() const noexcept {
      return {blocks_.in_use(), blocks_.peak(), blocks_.allocations(), chunks_, bytes_};
    }

   private:
    typename Traits::tally blocks_;
    // Order: relaxed; numbers.
    cell<std::size_t> chunks_ = 0;
    cell<std::size_t> bytes_ = 0;
  };
};

// ---- events: what a sink is, and the sinks for profilers in the process ---------------------------------------------------

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

// ---- what a pool uses of the policy ---------------------------------------------------------------------------------------

namespace detail {
template <class P, class Traits>
concept statistics_members = requires(typename P::template state<Traits>& state, std::size_t n) {
  { state.on_allocate(n) } noexcept -> std::same_as<void>;
  { state.on_deallocate(n) } noexcept -> std::same_as<void>;
  { state.on_chunk(n) } noexcept -> std::same_as<void>;
  { state.off_chunk(n) } noexcept -> std::same_as<void>;
} && as_promised<P::traits.counts, requires(const typename P::template state<Traits>& state) {
                               { state.read() } noexcept;
                             }> && as_promised<P::traits.can_try, requires(typename P::template state<Traits>& state) {
                               { state.try_on_allocate() } noexcept -> std::same_as<bool>;
                               { state.try_on_deallocate() } noexcept -> std::same_as<bool>;
                             }> && as_promised<P::traits.hears_release, requires(typename P::template state<Traits>& state) {
                               { state.on_release() } noexcept -> std::same_as<void>;
                             }> && as_promised<P::traits.hears_events, requires(typename P::template state<Traits>& state,
                                                                               const trace_event& event) {
                               { state.on_event(event) } noexcept -> std::same_as<void>;
                             }> && std::constructible_from<typename P::template state<Traits>, const P&>;
}  // namespace detail

/// Everything that the pool uses of a statistics policy, in addition to its traits.
/// The machinery is `state<Traits>`, made from the policy. Its counters are cells of the locking policy, atomic if hooks run
/// outside every lock; those of blocks are Traits::tally.
///   on_allocate(blocks), on_deallocate(blocks)    called under the hit guard; for a sampled block, under the core guard
///   on_chunk(bytes), off_chunk(bytes)             a chunk was added or removed; called under the core guard. If the blocks
///                                                 are an array in the pool, only if the policy counts
/// Optional members:
///   try_on_allocate(), try_on_deallocate()        called first for one block in a hit, which needs no stack if they call
///                                                 nothing. False: nothing was counted, so the other is called
///   on_release()                                  all blocks are released, including those in use; called under the core
///                                                 guard, before the chunks go
///   on_event(trace_event)                         called in addition, and for refusals; see trace_kind. For a block under the
///                                                 hit guard, before it can be allocated again; for a chunk under the core
///                                                 guard
template <class P>
concept statistics_policy = policy_on<P, axis::statistics> && detail::says<P, statistics_traits> && requires {
  typename detail::template_name<P::template state>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_STATISTICS_H_

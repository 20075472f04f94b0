// Axis statistics: what is counted.
//
// Here: statistics_traits, trace_event, no_statistics, counting_statistics, statistics_policy. In a separate header:
// tracing_statistics, which reports each event.
#ifndef TARN_POLICIES_STATISTICS_H_
#define TARN_POLICIES_STATISTICS_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"

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

// Question: how long do the slowest allocations take, with the first write to their block? Ten million of 64 bytes, 100 ns
// apart.
//
// Each column runs in a process of its own, the malloc of which is a column, too: bench/processes.py.

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <sys/mman.h>
#include <sys/resource.h>

#include "tarn/allocator/maintenance_thread.h"
#include "tarn/bench/allocators.h"
#include "tarn/bench/compositions.h"
#include "tarn/bench/heap.h"
#include "tarn/bench/loops.h"
#include "tarn/bench/measure.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace tarn_bench {
namespace {

constexpr const char* table = "latency";

// A clock around one call: what was before has happened when it is read, and what comes after hasn't.
#if defined(__x86_64__)
inline std::uint64_t ticks() {
  unsigned core;
  const std::uint64_t now = __rdtscp(&core);
  _mm_lfence();
  return now;
}
#else
inline std::uint64_t ticks() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}
#endif

/// How long a tick is, in ns, and how many of them the clock itself takes.
struct tick_size {
  double ns = 1;
  std::uint64_t own = ~std::uint64_t{0};

  tick_size() {
    const auto time = [] { return std::chrono::steady_clock::now(); };
    const auto start = time();
    const std::uint64_t first = ticks();
    while (time() - start < std::chrono::milliseconds{50}) {
      const std::uint64_t before = ticks();
      own = std::min(own, ticks() - before);
    }
    const std::chrono::duration<double, std::nano> passed = time() - start;
    ns = passed.count() / static_cast<double>(ticks() - first);
  }
};

/// How often each time was seen, to a sixty-fourth of it.
class histogram {
 public:
  void add(std::uint64_t value) {
    ++seen_[place_of(value)];
    ++count_;
    most_ = std::max(most_, value);
  }
  std::uint64_t most() const { return most_; }
  /// The least time that at most this share of all is above.
  std::uint64_t below(double share_above) const {
    auto left = static_cast<std::uint64_t>(share_above * static_cast<double>(count_));
    for (std::size_t place = seen_.size(); place-- > 0;) {
      if (seen_[place] > left) return value_of(place);
      left -= seen_[place];
    }
    return 0;
  }

 private:
  static constexpr unsigned steps = 6;
  static std::size_t place_of(std::uint64_t value) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    if (width <= steps + 1) return value;
    const unsigned shift = width - steps - 1;
    return (std::size_t{shift} << steps) + (value >> shift);
  }
  static std::uint64_t value_of(std::size_t place) {
    if (place < (2U << steps)) return place;
    const std::size_t shift = (place >> steps) - 1;
    return std::uint64_t{place - (shift << steps)} << shift;
  }

  std::array<std::uint64_t, 64 << steps> seen_{};
  std::uint64_t count_ = 0;
  std::uint64_t most_ = 0;
};

/// How often the system took this thread from its core.
inline long switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw + usage.ru_nvcsw;
}

struct latencies {
  histogram all;
  std::uint64_t switched = 0;        ///< samples in which the thread lost its core: these aren't in `all`
  std::uint64_t most_switched = 0;  ///< the longest of them
};

/// Has the system find that much memory and takes none of it. In a virtual machine, memory that was never used is the host's
/// to find, which takes longer than a page fault does: 8 µs for a page, 4 ms for a huge one were seen.
inline void touch_memory(std::size_t bytes) {
  void* const start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return;
#if defined(MADV_HUGEPAGE)
  ::madvise(start, bytes, MADV_HUGEPAGE);
#endif
  for (std::size_t at = 0; at < bytes; at += 4096) static_cast<volatile char*>(start)[at] = 1;
  ::munmap(start, bytes);
}

/// Allocates blocks; each is written with the address of the one before. Returns the last.
template <class Column>
TARN_BENCH_LOOP void* sample(Column& column, std::size_t count, const tick_size& tick, latencies& found) {
  const auto pause = static_cast<std::uint64_t>(100 / tick.ns);
  const auto long_enough = static_cast<std::uint64_t>(5000 / tick.ns);  // to have lost the core
  constexpr std::size_t often = 61;  // no multiple or part of the blocks of a page
  void* last = nullptr;
  long before = switches();
  std::size_t next = often;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t start = ticks();
    void* const block = column.take();
    *static_cast<void**>(block) = last;
    keep(block);
    const std::uint64_t end = ticks();
    last = block;

    const std::uint64_t taken = end - start - std::min(tick.own, end - start);
    bool lost = false;
    if (taken > long_enough || --next == 0) {
      const long now = switches();
      lost = taken > long_enough && now != before;
      before = now;
      next = often;
    }
    if (lost) {
      ++found.switched;
      found.most_switched = std::max(found.most_switched, taken);
    } else {
      found.all.add(taken);
    }
    while (ticks() - end < pause) {
    }
  }
  return last;
}

constexpr std::array<const char*, 6> percentiles{"p50", "p90", "p99", "p999", "p9999", "p99999"};
constexpr std::array<double, 6> shares_above{0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-5};

constexpr auto first_write = []<class Column>(benchmark::State& state) {
  const std::size_t count = scaled(quick ? 1'000'000 : 10'000'000);
  static latencies found;  // in memory that is there already
  for (auto _ : state) {
    const tick_size tick;
    const auto ns = [&](std::uint64_t time) { return static_cast<double>(time) * tick.ns; };
    found = {};
    touch_memory(count * 96);  // mallocs have headers
    alignas(64) Column column;
    if constexpr (requires { column.prepare(count); }) column.prepare(count);
    for (void* block = sample(column, count, tick, found); block != nullptr;) {
      void* const before = *static_cast<void**>(block);
      column.give(block);
      block = before;
    }
    for (std::size_t i = 0; i < percentiles.size(); ++i) {
      state.counters[percentiles[i]] = ns(found.all.below(shares_above[i])) * 1e-9;
    }
    state.counters["most"] = ns(found.all.most()) * 1e-9;
    state.counters["most_switched"] = ns(found.most_switched) * 1e-9;
    state.counters["switched"] = static_cast<double>(found.switched);
    // For the picture: the time that one of 1, 10^(1/8), 10^(2/8) ... is above, in ns.
    std::string times;
    for (int eighth = 0; std::pow(10, eighth / 8.0) <= static_cast<double>(count); ++eighth) {
      times += std::to_string(std::lround(ns(found.all.below(std::pow(10, -eighth / 8.0))))) + ' ';
    }
    state.SetLabel(times);
  }
};

/// What is done before the clock starts: chunks for all blocks are there.
template <class Column>
struct reserved : Column {
  void prepare(std::size_t blocks) { this->pool().reserve(blocks); }
};
struct tarn_prefilled_reserved : reserved<tarn_prefilled<64>> {
  static constexpr const char* name = "tarn_prefilled_reserved";
};

/// A thread keeps sixteen MiB ready.
struct tarn_growing_ahead {
  static constexpr const char* name = "tarn_growing_ahead";
  using pool = tarn::pool<tarn::static_size<64>, tarn::mutex_locking<>, tarn::grow_ahead<(16 << 20) / 64>, tarn::page_store<>>;
  void* take() { return pool_.allocate(); }
  void give(void* block) { pool_.deallocate(block); }
  void prepare(std::size_t) {
    while (pool_.maintain() == tarn::maintained::unfinished) {
    }
  }

 private:
  pool pool_;
  tarn::maintenance_thread keeper_;
  decltype(keeper_.add(pool_)) place_ = keeper_.add(pool_);
};

using all = columns<heap<64>, tarn_default<64>, tarn_pages<64>, tarn_mutex<64>, tarn_prefilled_reserved, tarn_growing_ahead>;

}  // namespace

void register_benchmarks() { add(table, "first_write", all{}, first_write, one_pass); }

}  // namespace tarn_bench

// A ring of events, and the file that it is written to. The format is docs/how-to/trace.md's.
#ifndef TARN_POLICIES_STATISTICS_TRACE_FILE_H_
#define TARN_POLICIES_STATISTICS_TRACE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/one_in_process.h"
#include "tarn/policies/platform/trace_words.h"
#include "tarn/policies/statistics.h"
#include "tarn/policies/statistics/tracing_statistics.h"

namespace tarn::detail {

struct trace_header {
  char magic[8] = {'t', 'a', 'r', 'n', 't', 'r', 'a', 'c'};
  std::uint32_t byte_order = 0x01020304;
  std::uint32_t version = 1;
  std::uint32_t header_bytes = 80;
  std::uint32_t piece_bytes = 32;
  std::uint32_t event_bytes = 32;
  std::uint32_t clock = static_cast<std::uint32_t>(trace_clock);
  std::uint64_t start_ticks = 0;
  std::uint64_t start_nanoseconds = 0;
  std::uint64_t dump_ticks = 0;
  std::uint64_t dump_nanoseconds = 0;
  std::uint64_t lost = 0;
  std::uint64_t unused = 0;
};
static_assert(sizeof(trace_header) == 80);

/// In front of some events of one ring; `events` 0: the file's end, where `first` is the number of pieces.
struct trace_piece {
  std::uint64_t ring;
  std::uint64_t first;  // the number of its first event in the ring
  std::uint64_t events;
  std::uint64_t mark = 0x6563656970;  // "piece"
};

struct trace_record {
  std::uint64_t pool;
  std::uint64_t address;
  std::uint64_t bytes_and_kind;
  std::uint64_t ticks;
};

class trace_file {
 public:
  explicit trace_file(const char* path) noexcept : file_(std::fopen(path, "wb")), is_own_(true) {}
  explicit trace_file(std::FILE* open) noexcept : file_(open), is_own_(false) {}

  void begin(std::uint64_t start_ticks, std::uint64_t start_nanoseconds, std::uint64_t lost) noexcept {
    trace_header its;
    its.start_ticks = start_ticks;
    its.start_nanoseconds = start_nanoseconds;
    its.dump_nanoseconds = trace_nanoseconds();
    its.dump_ticks = trace_now();
    its.lost = lost;
    write(&its, sizeof its);
  }
  void piece(const void* ring, std::uint64_t first, const trace_record* events, std::size_t n) noexcept {
    const trace_piece its{reinterpret_cast<std::uintptr_t>(ring), first, n};
    write(&its, sizeof its);
    write(events, n * sizeof *events);
    ++pieces_;
  }
  bool end() noexcept {
    const trace_piece last{0, pieces_, 0};
    write(&last, sizeof last);
    if (file_ == nullptr) return false;
    const bool flushed = is_own_ ? std::fclose(file_) == 0 : std::fflush(file_) == 0;
    return flushed && !failed_;
  }

 private:
  void write(const void* data, std::size_t bytes) noexcept {
    if (file_ != nullptr && !failed_ && bytes != 0) failed_ = std::fwrite(data, 1, bytes, file_) != bytes;
  }

  std::FILE* file_;
  bool is_own_;
  bool failed_ = false;
  std::uint64_t pieces_ = 0;
};

/// One thread adds events; any thread writes them to a file meanwhile. Without a constructor: see trace_word.
template <std::size_t Events>
class alignas(64) trace_ring_of {
  static constexpr std::uint64_t own_kind = 0x80;  // `thread`, no event of a pool: who adds the next events

 public:
  /// A thread takes the ring.
  void begin(std::uint64_t thread) noexcept {
    const std::uint64_t before = thread_.own();
    thread_.store(thread);
    put(before, thread, own_kind << 56, trace_now());
  }
  template <bool ReadsClock>
  TARN_STEP void add(const trace_event& event) noexcept {
    const bool is_block = event.kind == trace_kind::allocate || event.kind == trace_kind::free;
    if (ReadsClock || !is_block || (added_.own() & 63) == 0) [[unlikely]]
      ticks_.store(trace_now());
    put(reinterpret_cast<std::uintptr_t>(event.pool), reinterpret_cast<std::uintptr_t>(event.address),
        std::uint64_t{event.bytes} | std::uint64_t{static_cast<unsigned char>(event.kind)} << 56, ticks_.own());
  }

  /// An event that was replaced while it was read isn't written: who reads a word of event n then sees that n were added.
  void write(trace_file& file) const noexcept {
    const std::uint64_t end = added_.load();
    std::uint64_t next = end < Events ? 0 : end - Events;
    while (next < end) {
      trace_record some[128];
      const std::size_t n = end - next < 128 ? static_cast<std::size_t>(end - next) : 128;
      for (std::size_t i = 0; i != n; ++i) {
        const auto& its = slots_[(next + i) & (Events - 1)];
        some[i] = {its[0].load(), its[1].load(), its[2].load(), its[3].load()};
      }
      const std::uint64_t now = added_.load();
      const std::uint64_t least = now < Events ? 0 : now - Events + 1;  // the one before is perhaps being replaced
      const std::uint64_t gone = least <= next ? 0 : least - next;
      if (gone < n) file.piece(this, next + gone, some + gone, n - static_cast<std::size_t>(gone));
      next += n;
    }
  }

 private:
  TARN_STEP void put(std::uint64_t pool, std::uint64_t address, std::uint64_t bytes_and_kind, std::uint64_t ticks) noexcept {
    const std::uint64_t n = added_.own();
    auto& its = slots_[n & (Events - 1)];
    its[0].store(pool);
    its[1].store(address);
    its[2].store(bytes_and_kind);
    its[3].store(ticks);
    added_.store(n + 1);
  }

  trace_word added_;
  trace_word ticks_;
  trace_word thread_;
  alignas(32) trace_word slots_[Events][4];
};

}  // namespace tarn::detail

// decides    Perfetto's heap profiler is told of each block, as of a heap with a name
// costs      a load and a predicted branch for each block where the profiler isn't in the process; else a call, which samples
// conflicts  none
// use when   a program is looked at with Perfetto, under Android or with its libraries on Linux
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

// decides    heaptrack, where the program runs under it, is told of each block
// costs      a load and a predicted branch for each block; under heaptrack, what it costs for each malloc: it unwinds the stack
// conflicts  none
// use when   a program is looked at with heaptrack, which would otherwise see chunks only
namespace detail {
/// \tparam Target  this one: whether heaptrack is there is asked where the sink is named
template <class Target>
struct heaptrack_sink {
  static constexpr bool arguments_hold = platform::looks_up<Target>;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [D7] heaptrack_trace was named, but heaptrack runs on Linux only; name another sink on this target");
  };

  /// Tells heaptrack of a block.
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

/// A sink of tracing_statistics for heaptrack: what <heaptrack_api.h> does, without it. Blocks that are released all at once
/// stay in use as heaptrack sees it. The chunks of heap_store come from malloc, and are told besides: name page_store<> to see
/// blocks only.
struct heaptrack_trace : detail::heaptrack_sink<void> {};

}  // namespace tarn

#endif  // TARN_POLICIES_STATISTICS_TRACE_FILE_H_

// The sink that keeps the newest events in memory: the rings of threads, and the file of a dump.
//
//   on_event      the thread's ring; at its first event, an unused one, or that of a thread that has exited
//    add            the event replaces the oldest; the clock is read occasionally
//   dump_trace    the file's head, each ring in pieces, the end
//
// Version 1 of the file. Numbers are unsigned, in the byte order of the machine that wrote it. The head has 80 bytes:
//
//   at   bytes
//    0     8   "tarntrac"
//    8     4   0x01020304, which shows the byte order
//   12     4   the version: 1
//   16     4   bytes of the head: 80. Read this number of bytes, and skip what you don't know
//   20     4   bytes before each piece: 32
//   24     4   bytes of an event: 32
//   28     4   the clock: 1 nanoseconds, 2 rdtsc, 3 cntvct_el0
//   32     8   the clock at the first thread's first event
//   40     8   nanoseconds of steady_clock at that time
//   48   8+8   both when the dump was written, which gives the length of a tick
//   64     8   the number of events that had no ring
//   72     8   0
//
// Pieces of rings follow, those of one ring in order; numbers that are missing between two were overwritten during the dump.
// Four numbers of 8 bytes precede each piece: the ring, the number of its first event in the ring, the number of events that
// follow, 0x6563656970. A piece of 0 events is the end of the file; its second number is the number of pieces.
//
// An event is four numbers of 8 bytes: the pool, the address, the bytes and in the highest byte the kind, the clock. Kinds: 1
// allocate, 2 free, 3 grow, 4 give_back, 5 refuse, 6 release. 0x80 isn't an event of a pool: a thread took the ring, and the
// next events are its own. Its number, from 1 on, is where the address is; the thread that had the ring before, or 0, is where
// the pool is.
#ifndef TARN_POLICIES_STATISTICS_TRACE_RING_H_
#define TARN_POLICIES_STATISTICS_TRACE_RING_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/trace_words.h"
#include "tarn/policies/platform/waiting.h"
#include "tarn/policies/statistics.h"

namespace tarn {

namespace detail {
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

/// One thread adds events, while any thread writes them to a file. Without a constructor: see trace_word.
template <std::size_t Events>
class alignas(64) trace_ring_of {
  static constexpr std::uint64_t own_kind = 0x80;  // `thread`, not an event of a pool: the thread of the next events

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

  /// An event that was replaced while it was read isn't written: a thread that reads a word of event n also sees that n were
  /// added.
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
      const std::uint64_t least = now < Events ? 0 : now - Events + 1;  // the one before may be being replaced
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

/// Called before the library is unloaded: threads no longer report their exit to it.
template <class Rings>
TARN_AT_UNLOAD static void close_trace_rings() noexcept {
  Rings::ends_of_threads_.close();
}
}  // namespace detail

/// When a trace_ring reads the clock. `each_event`: always. `some_events`: for each 64th event of a thread, and for events
/// other than blocks; the others have the time of the one before.
enum class trace_times : unsigned char { some_events, each_event };

// decides    the newest events of each thread are kept in memory, until dump_trace() writes them to a file
// costs      32 bytes for an event; docs/how-to/trace.md lists the time of a pair of calls
// conflicts  none
// use when   a program's allocations should be inspected afterwards, or replayed; tools/tarn-trace reads the file
/// A sink of tracing_statistics: a ring of events for each thread, in which a new event replaces the oldest. Nothing is
/// allocated: the rings are static, and take memory only when they are used. A thread takes a ring at its first event; when it
/// exits, a later thread may take the ring with its events. If all are taken, the events of further threads are only counted.
/// \tparam Events  in a ring: a power of two, at least 64
/// \tparam Threads  the most that can trace at the same time
/// \tparam Times    when the clock is read
template <std::size_t Events = 4096, std::size_t Threads = 64, trace_times Times = trace_times::some_events>
class trace_ring {
  using ring = detail::trace_ring_of<Events>;

 public:
  static constexpr bool arguments_hold = Events >= 64 && (Events & (Events - 1)) == 0 && Threads != 0;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [D3] trace_ring was given a number of events that isn't a power of two or is under 64, or 0 threads; "
                  "write trace_ring<4096>");
  };

  /// Keeps the event.
  TARN_STEP static void on_event(const trace_event& event) noexcept {
    ring* its = mine_;
    if (its == nullptr) [[unlikely]] {
      its = take_ring();
      if (its == nullptr) return;
    }
    its->template add<Times == trace_times::each_event>(event);
  }

  /// Writes the rings to a file, which is overwritten; other threads may trace during this. Returns whether it succeeded; if
  /// not, errno says why. The beginning of trace_ring.h describes the format.
  static bool dump_trace(const char* path) noexcept {
    detail::trace_file file(path);
    return dump(file);
  }
  /// The same to a file that is open for writing: "wb".
  static bool dump_trace(std::FILE* open) noexcept {
    detail::trace_file file(open);
    return dump(file);
  }

  /// Returns how many events had no ring.
  static std::uint64_t lost() noexcept { return lost_.load(detail::memory_order_relaxed); }

 private:
  template <class>
  friend void detail::close_trace_rings() noexcept;

  static bool dump(detail::trace_file& file) noexcept {
    file.begin(start_ticks_.load(), start_nanoseconds_.load(), lost());
    for (const ring& its : rings_) its.write(file);
    return file.end();
  }

  TARN_COLD static ring* take_ring() noexcept {
    for (std::size_t i = 0; i != Threads; ++i)
      if (taken_[i].load(detail::memory_order_relaxed) == 0 && take(i, 0)) return begin(i);
    constexpr unsigned some = 64;  // finding a ring's thread takes system calls
    const std::uint64_t lost = lost_.fetch_add(1, detail::memory_order_relaxed);
    if (lost % some != 0) return nullptr;
    const auto i = static_cast<std::size_t>(lost / some % Threads);
    const std::uintptr_t whose = taken_[i].load(detail::memory_order_relaxed);
    return whose != not_known && marks_.is_gone(whose) && take(i, whose) ? begin(i) : nullptr;
  }
  static bool take(std::size_t i, std::uintptr_t from) noexcept {
    const detail::thread_marks::mark me = marks_.next();
    return taken_[i].compare_exchange_strong(from, me != 0 ? me : not_known, detail::memory_order_acquire);
  }
  static ring* begin(std::size_t i) noexcept {
    const std::uint32_t number = threads_.fetch_add(1, detail::memory_order_relaxed) + 1;
    if (number == 1) {
      start_nanoseconds_.store(detail::trace_nanoseconds());
      start_ticks_.store(detail::trace_now());
    }
    rings_[i].begin(number);
    mine_ = &rings_[i];
    static_cast<void>(&detail::close_trace_rings<trace_ring>);  // instantiates it
    ends_of_threads_.tell(leave_ring, mine_);
    return mine_;
  }
  static void leave_ring(void* its) noexcept {
    mine_ = nullptr;
    taken_[static_cast<ring*>(its) - rings_].store(0, detail::memory_order_release);
  }

  static constexpr std::uintptr_t not_known = 1;  // less than any mark

  static inline constinit thread_local ring* mine_ = nullptr;
  static inline detail::trace_word start_ticks_;
  static inline detail::trace_word start_nanoseconds_;
  // Order: relaxed; numbers.
  static inline constinit detail::atomic_word<std::uint32_t> threads_ = 0;
  static inline constinit detail::atomic_word<std::uint64_t> lost_ = 0;
  // Order: exchange acquire, store release. A thread that takes a ring sees all that its last holder added, or the system
  // reports that holder gone.
  static inline constinit detail::atomic_word<std::uintptr_t> taken_[Threads]{};  // by which thread; 0: by none
  static inline constinit detail::thread_marks marks_{};
  static inline constinit detail::thread_end ends_of_threads_{};
  static inline ring rings_[Threads];
};

}  // namespace tarn

#endif  // TARN_POLICIES_STATISTICS_TRACE_RING_H_

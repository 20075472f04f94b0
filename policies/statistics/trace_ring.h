// decides    the newest events of each thread are kept in memory, until dump_trace() writes them to a file
// costs      32 bytes for an event; a pair of calls takes longer by what docs/how-to/trace.md says
// conflicts  none
// use when   a program's allocations shall be looked at afterwards, or replayed; tools/tarn-trace reads the file
#ifndef TARN_POLICIES_STATISTICS_TRACE_RING_H_
#define TARN_POLICIES_STATISTICS_TRACE_RING_H_

#include <cstddef>
#include <cstdint>

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/thread_end.h"
#include "tarn/policies/platform/trace_words.h"
#include "tarn/policies/statistics.h"
#include "tarn/policies/statistics/trace_file.h"

namespace tarn {

/// When a trace_ring reads the clock. `some_events`: for each 64th event of a thread, and for those that are no blocks; others
/// have the time of the one before, and tarn-trace orders the calls of several threads by their blocks. `each_event`: always.
enum class trace_times : unsigned char { some_events, each_event };

namespace detail {
/// Before the library is unloaded: its threads no longer tell it that they end.
template <class Rings>
TARN_AT_UNLOAD static void close_trace_rings() noexcept {
  Rings::ends_of_threads_.close();
}
}  // namespace detail

/// A sink of tracing_statistics: a ring of events for each thread, in which a new event replaces the oldest. Nothing is ever
/// allocated; the rings are static, and take memory once they are used. A thread takes a ring at its first event, and leaves it
/// with its events to a later thread when it ends. Where all are taken, the events of further threads are counted, no more.
/// \tparam Events   in a ring: a power of two, at least 64
/// \tparam Threads  that trace at a time
/// \tparam Times    when the clock is read
template <std::size_t Events = 4096, std::size_t Threads = 64, trace_times Times = trace_times::some_events>
class trace_ring {
  using ring = detail::trace_ring_of<Events>;

 public:
  static constexpr bool arguments_hold = Events >= 64 && (Events & (Events - 1)) == 0 && Threads != 0;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [D3] trace_ring was given a number of events that is no power of two, or less than 64, or no threads; "
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

  /// Writes what the rings hold to a file, anew; other threads may trace meanwhile. Returns whether it could; if not, errno
  /// says why. The format: docs/how-to/trace.md.
  static bool dump_trace(const char* path) noexcept {
    detail::trace_file file(path);
    return dump(file);
  }
  /// The same to a file that is open for writing: "wb".
  static bool dump_trace(std::FILE* open) noexcept {
    detail::trace_file file(open);
    return dump(file);
  }

  /// Returns how many events had no ring to go to.
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
    constexpr unsigned some = 64;  // to look whose a ring is takes system calls
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
  static inline constinit detail::atomic_word<std::uint32_t> threads_ = 0;
  static inline constinit detail::atomic_word<std::uint64_t> lost_ = 0;
  static inline constinit detail::atomic_word<std::uintptr_t> taken_[Threads]{};  // by which thread; 0: by none
  static inline constinit detail::thread_marks marks_{};
  static inline constinit detail::thread_end ends_of_threads_{};
  static inline ring rings_[Threads];
};

}  // namespace tarn

#endif  // TARN_POLICIES_STATISTICS_TRACE_RING_H_

// What the policies in kinds.h are made with. Without Boost.Test and heavy headers: test/platforms/core includes it, too.
#ifndef TARN_TEST_SUPPORT_KIND_PARTS_H_
#define TARN_TEST_SUPPORT_KIND_PARTS_H_

#include <cstddef>

#include "tarn/allocator/pool.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/standard_library.h"
#include "tarn/policies/statistics.h"

#if defined(TARN_STANDARD_THREADS)
#include <mutex>
#endif

namespace tarn::test {

struct trio {
  void* a;
  long b;
  char c;
};
struct crew;  // a group
struct gives_up {
  bool operator()(std::size_t) const noexcept { return false; }
};

inline constinit memory_budget kinds_budget{unlimited};

/// Hears events, of all pools that have it.
struct counting_sink {
  static inline constinit detail::atomic_word<std::size_t> events = 0;
  static void on_event(const trace_event&) noexcept { events.fetch_add(1, detail::memory_order_relaxed); }
};

#if defined(TARN_STANDARD_THREADS)
using standard_mutex = std::mutex;
using standard_recursive_mutex = std::recursive_mutex;
#else
/// What a user brings where the standard library has none.
struct standard_mutex {
  void lock() noexcept {}
  void unlock() noexcept {}
};
using standard_recursive_mutex = standard_mutex;
#endif

/// In the place of interrupts, threads are what it keeps out, of all pools that have it.
struct kinds_mask {
  static inline standard_recursive_mutex others;
  static int save_and_mask() noexcept { return others.lock(), 0; }
  static void restore(int) noexcept { others.unlock(); }
};

}  // namespace tarn::test

#endif  // TARN_TEST_SUPPORT_KIND_PARTS_H_

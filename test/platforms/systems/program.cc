// What a program with an RTOS does with pools. Compiled for a Cortex-M4 and a Cortex-M0+ with each platform header; run on this
// machine over an imitation of the RTOS, by threads of its own.
//
//   -DTARN_PLATFORM_HEADER=...  -DRTOS_MUTEX=freertos_mutex  [-DRUN]
#include <cstddef>
#include <cstdint>

#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/pool.h"

#if defined(RUN)
#include <cstdio>
#include <thread>
#endif

extern "C" void* pvPortMalloc(std::size_t);
extern "C" void vPortFree(void*);

/// Chunks out of the RTOS' memory. It aligns to 8 bytes.
struct rtos_store {
  using axis = tarn::axis::store;
  static constexpr tarn::store_traits traits{};

  template <class Traits>
  struct source {
    constexpr explicit source(const rtos_store&) noexcept {}
    tarn::detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      void* const start = alignment <= 8 ? pvPortMalloc(bytes) : nullptr;
      return {start, start != nullptr ? bytes : 0};
    }
    void release(tarn::detail::memory region, std::size_t) noexcept { vPortFree(region.start); }
  };
};

/// A mistake that the test must find.
struct no_mutex {
  void lock() noexcept {}
  void unlock() noexcept {}
};

struct message {
  explicit message(std::uintptr_t value) : from(value), check(~value) {}
  bool is_right(std::uintptr_t value) const { return from == value && check == ~value; }
  std::uintptr_t from, check;
  unsigned char text[40] = {};
};
struct event : message {
  using message::message;
  DECLARE_MEMORY_POOL__NOTHROW(event)  // tarn::mutex, over the RTOS' waiting
};

using rtos_pool = tarn::object_pool<message, tarn::mutex_locking<RTOS_MUTEX>, tarn::fixed_growth<64>, rtos_store>;
using waiting_pool =
    tarn::object_pool<message, tarn::mutex_locking<>, tarn::static_array_store<4>, tarn::wait_for_block<60'000>>;
using checked_pool = tarn::object_pool<message, tarn::mutex_locking<>, tarn::checked, tarn::fixed_growth<64>>;

struct minute {
  struct period {
    static constexpr int num = 60, den = 1;
  };
  static constexpr int count() noexcept { return 1; }
};
template <class Pool>
message* make(Pool& pool, std::uintptr_t value) noexcept {
  if constexpr (Pool::waits) return pool.construct_within(minute(), value);
  else return pool.try_construct(value);
}
template <class Pool>
unsigned long use(Pool& pool, std::uintptr_t seed, unsigned long turns) noexcept {
  unsigned long wrong = 0;
  for (unsigned long i = 0; i != turns; ++i) {
    message* const one = make(pool, seed + i);
    message* const other = make(pool, ~seed - i);
    if (one == nullptr || other == nullptr || !one->is_right(seed + i) || !other->is_right(~seed - i)) ++wrong;
    pool.destroy(one);
    pool.destroy(other);
  }
  return wrong;
}
unsigned long use_events(std::uintptr_t seed, unsigned long turns) noexcept {
  unsigned long wrong = 0;
  for (unsigned long i = 0; i != turns; ++i) {
    event* const one = new event(seed + i);
    if (one == nullptr || !one->is_right(seed + i)) ++wrong;
    delete one;
  }
  return wrong;
}

struct all_pools {
  rtos_pool ours;
  waiting_pool few;  // two threads that take two each never wait for each other for ever
  checked_pool watched;

  unsigned long use_all(std::uintptr_t seed, unsigned long turns) noexcept {
    return use(ours, seed, turns) + use(few, seed, turns) + use(watched, seed, turns) + use_events(seed, turns);
  }
};

#if defined(RUN)
int main() {
  all_pools pools;
  constexpr unsigned long turns = 20'000;
  unsigned long wrong[2] = {};
  std::thread other([&] { wrong[1] = pools.use_all(std::uintptr_t{1} << 20, turns); });
  wrong[0] = pools.use_all(1, turns);
  other.join();
  std::printf("%lu allocations, %lu wrong\n", 2 * 7 * turns, wrong[0] + wrong[1]);
  return wrong[0] + wrong[1] == 0 ? 0 : 1;
}
#else
unsigned long use_all(all_pools& pools, std::uintptr_t seed) { return pools.use_all(seed, 1); }
#endif

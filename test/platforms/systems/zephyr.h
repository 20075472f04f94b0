// Zephyr: its threads, clock and mutex. An example of a platform header; compiled against stubs that declare what it calls, and
// run over an imitation of them.
#ifndef ZEPHYR_H_OF_MINE_
#define ZEPHYR_H_OF_MINE_

#include <zephyr/kernel.h>

#include <cstddef>
#include <cstdint>

#include "tarn/policies/platform/none.h"

namespace tarn::platform {

struct system : no_system {
  static constexpr bool has_threads = true;
  static void yield() noexcept { k_yield(); }
  static void sleep(std::uint64_t nanoseconds) noexcept { k_usleep(static_cast<std::int32_t>(nanoseconds / 1000 + 1)); }
  static void wait_while(const unsigned* word, unsigned value, std::uint64_t) noexcept {
    if (*static_cast<const volatile unsigned*>(word) == value) k_usleep(100);
  }
  static bool is_single_threaded() noexcept { return false; }
  static std::uintptr_t this_thread() noexcept { return reinterpret_cast<std::uintptr_t>(k_current_get()) + 1; }

  static constexpr bool has_clock = true;
  static std::uint64_t nanoseconds() noexcept { return static_cast<std::uint64_t>(k_uptime_get()) * 1'000'000u; }

  static constexpr bool has_atomic_section = true;
  class atomic_section {
   public:
    atomic_section() noexcept : key_(irq_lock()) {}
    ~atomic_section() { irq_unlock(key_); }
    atomic_section(const atomic_section&) = delete;
    atomic_section& operator=(const atomic_section&) = delete;

   private:
    unsigned key_;
  };
};

}  // namespace tarn::platform

/// A mutex whose holder inherits the priority of who waits: tarn::mutex_locking<zephyr_mutex>. Not for interrupts.
class zephyr_mutex {
 public:
  zephyr_mutex() noexcept { k_mutex_init(&mutex_); }
  zephyr_mutex(const zephyr_mutex&) = delete;
  zephyr_mutex& operator=(const zephyr_mutex&) = delete;

  void lock() noexcept { k_mutex_lock(&mutex_, K_FOREVER); }
  bool try_lock() noexcept { return k_mutex_lock(&mutex_, K_NO_WAIT) == 0; }
  void unlock() noexcept { k_mutex_unlock(&mutex_); }

 private:
  k_mutex mutex_;
};

#endif  // ZEPHYR_H_OF_MINE_

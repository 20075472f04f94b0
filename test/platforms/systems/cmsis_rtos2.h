// CMSIS-RTOS2: its threads, tick and mutex, for processors with compare-and-swap. On a Cortex-M0+ add an atomic_section, as
// freertos.h has, over __disable_irq() and __set_PRIMASK(). An example of a platform header; compiled against stubs that
// declare what it calls, and run over an imitation of them.
#ifndef CMSIS_RTOS2_H_OF_MINE_
#define CMSIS_RTOS2_H_OF_MINE_

#include <cmsis_os2.h>

#include <cstddef>
#include <cstdint>

#include "tarn/policies/platform/none.h"

namespace tarn::platform {

struct system : no_system {
  static constexpr bool has_threads = true;
  static void yield() noexcept { osThreadYield(); }
  static void sleep(std::uint64_t nanoseconds) noexcept {
    osDelay(static_cast<std::uint32_t>(nanoseconds * osKernelGetTickFreq() / 1'000'000'000u + 1));
  }
  static void wait_while(const unsigned* word, unsigned value, std::uint64_t) noexcept {
    if (*static_cast<const volatile unsigned*>(word) == value) osDelay(1);
  }
  static bool is_single_threaded() noexcept { return osKernelGetState() != osKernelRunning; }
  static std::uintptr_t this_thread() noexcept { return reinterpret_cast<std::uintptr_t>(osThreadGetId()) + 1; }

  static constexpr bool has_clock = true;
  static std::uint64_t nanoseconds() noexcept {
    return std::uint64_t{osKernelGetTickCount()} * (1'000'000'000u / osKernelGetTickFreq());
  }
};

}  // namespace tarn::platform

/// A mutex whose holder inherits the priority of who waits: tarn::mutex_locking<cmsis_mutex>. Not for interrupts.
class cmsis_mutex {
 public:
  cmsis_mutex() noexcept {
    const osMutexAttr_t inherits{"tarn", osMutexPrioInherit, nullptr, 0};
    id_ = osMutexNew(&inherits);
  }
  ~cmsis_mutex() { osMutexDelete(id_); }
  cmsis_mutex(const cmsis_mutex&) = delete;
  cmsis_mutex& operator=(const cmsis_mutex&) = delete;

  void lock() noexcept { osMutexAcquire(id_, osWaitForever); }
  bool try_lock() noexcept { return osMutexAcquire(id_, 0) == osOK; }
  void unlock() noexcept { osMutexRelease(id_); }

 private:
  osMutexId_t id_;
};

#endif  // CMSIS_RTOS2_H_OF_MINE_

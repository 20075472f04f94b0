// FreeRTOS: its tasks, tick, mutex and memory. An example of a platform header; compiled against stubs that declare what it
// calls, and run over an imitation of them.
//
//   -DTARN_PLATFORM_HEADER='"freertos.h"'        in every file of the program
#ifndef FREERTOS_H_OF_MINE_
#define FREERTOS_H_OF_MINE_

#include <FreeRTOS.h>
#include <semphr.h>
#include <task.h>

#include <cstddef>
#include <cstdint>

#include "tarn/policies/platform/none.h"

namespace tarn::platform {

struct system : no_system {
  static constexpr bool has_threads = true;
  static void yield() noexcept { taskYIELD(); }
  static void sleep(std::uint64_t nanoseconds) noexcept { vTaskDelay(static_cast<TickType_t>(nanoseconds / tick + 1)); }
  /// tarn's own mutexes wait so. No task inherits a priority: a pool on the way of an urgent task takes the mutex below.
  static void wait_while(const unsigned* word, unsigned value, std::uint64_t) noexcept {
    if (*static_cast<const volatile unsigned*>(word) == value) vTaskDelay(1);
  }
  static bool is_single_threaded() noexcept { return xTaskGetSchedulerState() == taskSCHEDULER_NOT_STARTED; }
  static std::uintptr_t this_thread() noexcept {  // main() before the scheduler has no task
    return reinterpret_cast<std::uintptr_t>(xTaskGetCurrentTaskHandle()) + 1;
  }

  static constexpr bool has_clock = true;
  static std::uint64_t nanoseconds() noexcept { return std::uint64_t{xTaskGetTickCount()} * tick; }

  /// For a Cortex-M0+: what changes a word is not interrupted.
  static constexpr bool has_atomic_section = true;
  class atomic_section {
   public:
    atomic_section() noexcept { taskENTER_CRITICAL(); }
    ~atomic_section() { taskEXIT_CRITICAL(); }
    atomic_section(const atomic_section&) = delete;
    atomic_section& operator=(const atomic_section&) = delete;
  };

 private:
  static constexpr std::uint64_t tick = 1'000'000'000u / configTICK_RATE_HZ;
};

}  // namespace tarn::platform

/// A mutex whose holder inherits the priority of who waits: tarn::mutex_locking<freertos_mutex>. Not for interrupts.
class freertos_mutex {
 public:
  freertos_mutex() noexcept : handle_(xSemaphoreCreateMutexStatic(&memory_)) {}
  freertos_mutex(const freertos_mutex&) = delete;
  freertos_mutex& operator=(const freertos_mutex&) = delete;

  void lock() noexcept { xSemaphoreTake(handle_, portMAX_DELAY); }
  bool try_lock() noexcept { return xSemaphoreTake(handle_, 0) == pdTRUE; }
  void unlock() noexcept { xSemaphoreGive(handle_); }

 private:
  StaticSemaphore_t memory_;
  SemaphoreHandle_t handle_;
};

#endif  // FREERTOS_H_OF_MINE_

// The functions that the stubs declare, over this machine's: so that what the platform headers say is run, too.
#include <FreeRTOS.h>
#include <cmsis_os2.h>
#include <semphr.h>
#include <task.h>
#include <zephyr/kernel.h>

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

pthread_mutex_t critical = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
thread_local char of_thread;

std::int64_t milliseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1000} + now.tv_nsec / 1'000'000;
}
pthread_mutex_t* at(void* memory) { return static_cast<pthread_mutex_t*>(memory); }
pthread_mutex_t* make_at(void* memory) {
  pthread_mutex_init(at(memory), nullptr);
  return at(memory);
}
static_assert(sizeof(pthread_mutex_t) <= sizeof(StaticSemaphore_t) && sizeof(pthread_mutex_t) <= sizeof(k_mutex));

bool lock(void* mutex, bool waits) { return (waits ? pthread_mutex_lock(at(mutex)) : pthread_mutex_trylock(at(mutex))) == 0; }

}  // namespace

extern "C" {

void* pvPortMalloc(size_t size) { return std::malloc(size); }
void vPortFree(void* block) { std::free(block); }
void vPortYield() { sched_yield(); }
void vTaskEnterCritical() { pthread_mutex_lock(&critical); }
void vTaskExitCritical() { pthread_mutex_unlock(&critical); }
void vTaskDelay(const TickType_t ticks) { usleep(ticks * 1000); }
TickType_t xTaskGetTickCount() { return static_cast<TickType_t>(milliseconds()); }
TaskHandle_t xTaskGetCurrentTaskHandle() { return reinterpret_cast<TaskHandle_t>(&of_thread); }
BaseType_t xTaskGetSchedulerState() { return taskSCHEDULER_RUNNING; }
SemaphoreHandle_t xSemaphoreCreateMutexStatic(StaticSemaphore_t* memory) {
  return reinterpret_cast<SemaphoreHandle_t>(make_at(memory));
}
BaseType_t xSemaphoreTake(SemaphoreHandle_t mutex, TickType_t ticks) { return lock(mutex, ticks != 0) ? pdTRUE : 0; }
BaseType_t xSemaphoreGive(SemaphoreHandle_t mutex) { return pthread_mutex_unlock(at(mutex)) == 0 ? pdTRUE : 0; }

void k_yield() { sched_yield(); }
int32_t k_usleep(int32_t microseconds) { return usleep(static_cast<useconds_t>(microseconds)); }
k_tid_t k_current_get() { return reinterpret_cast<k_tid_t>(&of_thread); }
int64_t k_uptime_get() { return milliseconds(); }
unsigned int irq_lock() {
  pthread_mutex_lock(&critical);
  return 0;
}
void irq_unlock(unsigned int) { pthread_mutex_unlock(&critical); }
int k_mutex_init(k_mutex* mutex) {
  make_at(mutex);
  return 0;
}
int k_mutex_lock(k_mutex* mutex, k_timeout_t timeout) { return lock(mutex, timeout.ticks != 0) ? 0 : -16; }
int k_mutex_unlock(k_mutex* mutex) { return pthread_mutex_unlock(at(mutex)); }

osStatus_t osThreadYield() {
  sched_yield();
  return osOK;
}
osStatus_t osDelay(uint32_t ticks) {
  usleep(ticks * 1000);
  return osOK;
}
osThreadId_t osThreadGetId() { return &of_thread; }
osKernelState_t osKernelGetState() { return osKernelRunning; }
uint32_t osKernelGetTickCount() { return static_cast<uint32_t>(milliseconds()); }
uint32_t osKernelGetTickFreq() { return 1000; }
osMutexId_t osMutexNew(const osMutexAttr_t*) { return make_at(std::malloc(sizeof(pthread_mutex_t))); }
osStatus_t osMutexAcquire(osMutexId_t mutex, uint32_t timeout) { return lock(mutex, timeout != 0) ? osOK : osErrorResource; }
osStatus_t osMutexRelease(osMutexId_t mutex) { return pthread_mutex_unlock(at(mutex)) == 0 ? osOK : osErrorResource; }
osStatus_t osMutexDelete(osMutexId_t mutex) {
  std::free(mutex);
  return osOK;
}

}  // extern "C"

// What test/platforms/systems/cmsis_rtos2.h uses of CMSIS-RTOS2, declared with its names and types.
#ifndef STUB_CMSIS_OS2_H_
#define STUB_CMSIS_OS2_H_
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef enum { osOK = 0, osErrorTimeout = -2, osErrorResource = -3 } osStatus_t;
typedef enum { osKernelInactive = 0, osKernelReady = 1, osKernelRunning = 2 } osKernelState_t;
typedef void* osThreadId_t;
typedef void* osMutexId_t;
typedef struct {
  const char* name;
  uint32_t attr_bits;
  void* cb_mem;
  uint32_t cb_size;
} osMutexAttr_t;
#define osMutexPrioInherit 0x00000002U
#define osWaitForever 0xFFFFFFFFU
osStatus_t osThreadYield(void);
osStatus_t osDelay(uint32_t ticks);
osThreadId_t osThreadGetId(void);
osKernelState_t osKernelGetState(void);
uint32_t osKernelGetTickCount(void);
uint32_t osKernelGetTickFreq(void);
osMutexId_t osMutexNew(const osMutexAttr_t* attr);
osStatus_t osMutexAcquire(osMutexId_t mutex, uint32_t timeout);
osStatus_t osMutexRelease(osMutexId_t mutex);
osStatus_t osMutexDelete(osMutexId_t mutex);
#ifdef __cplusplus
}
#endif
#endif

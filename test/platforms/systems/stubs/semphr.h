#ifndef STUB_SEMPHR_H_
#define STUB_SEMPHR_H_
#include "FreeRTOS.h"
#ifdef __cplusplus
extern "C" {
#endif
typedef struct {
  void* dummy[20];
} StaticSemaphore_t;
typedef struct QueueDefinition* SemaphoreHandle_t;
SemaphoreHandle_t xSemaphoreCreateMutexStatic(StaticSemaphore_t* memory);
BaseType_t xSemaphoreTake(SemaphoreHandle_t mutex, TickType_t ticks);
BaseType_t xSemaphoreGive(SemaphoreHandle_t mutex);
#ifdef __cplusplus
}
#endif
#endif

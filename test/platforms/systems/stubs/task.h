#ifndef STUB_TASK_H_
#define STUB_TASK_H_
#include "FreeRTOS.h"
#define taskSCHEDULER_NOT_STARTED ((BaseType_t)1)
#define taskSCHEDULER_RUNNING ((BaseType_t)2)
#ifdef __cplusplus
extern "C" {
#endif
typedef struct tskTaskControlBlock* TaskHandle_t;
void vPortYield(void);
#define taskYIELD() vPortYield()
void vTaskEnterCritical(void);
void vTaskExitCritical(void);
#define taskENTER_CRITICAL() vTaskEnterCritical()
#define taskEXIT_CRITICAL() vTaskExitCritical()
void vTaskDelay(const TickType_t ticks);
TickType_t xTaskGetTickCount(void);
TaskHandle_t xTaskGetCurrentTaskHandle(void);
BaseType_t xTaskGetSchedulerState(void);
#ifdef __cplusplus
}
#endif
#endif

// What test/platforms/systems/freertos.h uses of FreeRTOS, declared with its names and types.
#ifndef STUB_FREERTOS_H_
#define STUB_FREERTOS_H_
#include <stddef.h>
#include <stdint.h>
typedef uint32_t TickType_t;
typedef long BaseType_t;
#define pdTRUE ((BaseType_t)1)
#define portMAX_DELAY ((TickType_t)0xffffffffUL)
#define configTICK_RATE_HZ ((TickType_t)1000)
#ifdef __cplusplus
extern "C" {
#endif
void* pvPortMalloc(size_t size);
void vPortFree(void* block);
#ifdef __cplusplus
}
#endif
#endif

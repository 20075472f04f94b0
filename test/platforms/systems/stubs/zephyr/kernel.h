// What test/platforms/systems/zephyr.h uses of Zephyr, declared with its names and types.
#ifndef STUB_ZEPHYR_KERNEL_H_
#define STUB_ZEPHYR_KERNEL_H_
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct {
  int64_t ticks;
} k_timeout_t;
#ifdef __cplusplus
#define K_NO_WAIT (k_timeout_t{0})
#define K_FOREVER (k_timeout_t{-1})
#endif
typedef struct k_thread* k_tid_t;
struct k_mutex {
  void* dummy[20];
};
void k_yield(void);
int32_t k_usleep(int32_t microseconds);
k_tid_t k_current_get(void);
int64_t k_uptime_get(void);
unsigned int irq_lock(void);
void irq_unlock(unsigned int key);
int k_mutex_init(struct k_mutex* mutex);
int k_mutex_lock(struct k_mutex* mutex, k_timeout_t timeout);
int k_mutex_unlock(struct k_mutex* mutex);
#ifdef __cplusplus
}
#endif
#endif

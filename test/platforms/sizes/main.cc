// What is linked with each program: it calls both functions, and has what the programs want of others.
#include <cstddef>

#include "tarn/policies/checking/misuse.h"

void* take();
void give(void* block);
void start();

[[gnu::weak]] void halt(const tarn::misuse&) noexcept {
  for (;;) asm volatile("");
}
extern "C" {
[[gnu::weak]] void rtos_lock(void*) noexcept {}
[[gnu::weak]] void rtos_unlock(void*) noexcept {}
}

[[gnu::weak]] void start() {}

int main() {
  start();
  give(take());
}

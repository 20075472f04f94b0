// The start of a program on a Cortex-M, and its output and end through semihosting: a breakpoint that the emulator answers.
#include <stdint.h>

#include "startup.h"

namespace {

int ask_host(int operation, const void* arguments) {
  register int r0 asm("r0") = operation;
  register const void* r1 asm("r1") = arguments;
  asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void fault() {
  constexpr char text[] = "fault\n";
  tarn_test_write(text, sizeof text - 1);
  tarn_test_exit(139);
}

}  // namespace

extern "C" {
extern char stack_top[];

void tarn_test_write(const char* text, size_t bytes) {
  char line[65];
  while (bytes > 0) {
    size_t n = 0;
    for (; n < 64 && bytes > 0; --bytes) line[n++] = *text++;
    line[n] = 0;
    ask_host(0x04, line);  // SYS_WRITE0
  }
}

void tarn_test_exit(int status) {
  const uint32_t arguments[] = {0x20026, static_cast<uint32_t>(status)};  // ADP_Stopped_ApplicationExit
  ask_host(0x20, arguments);  // SYS_EXIT_EXTENDED
  for (;;) {
  }
}

void start() {
#if defined(__ARM_FP)
  *reinterpret_cast<volatile uint32_t*>(0xe000ed88) |= 0xfu << 20;  // CPACR: the floating-point unit may be used
  asm volatile("dsb\n\tisb");
#endif
  tarn_test_run();
}

[[gnu::weak]] void tarn_test_tick() {}  // SysTick's interrupt, once a program has started it

[[gnu::section(".vectors"), gnu::used]] void (*const vectors[16])() = {
    reinterpret_cast<void (*)()>(stack_top),
    start,
    fault,
    fault,
    fault,
    fault,
    fault,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    fault,
    fault,
    nullptr,
    fault,
    tarn_test_tick,
};
}

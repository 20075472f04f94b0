// The start of a program in machine mode of qemu's RISC-V board "virt", its serial port and the device that ends the emulator.
#include <stdint.h>
#include <stdio.h>

#include "startup.h"

extern "C" {
void tarn_test_write(const char* text, size_t bytes) {
  volatile auto* const port = reinterpret_cast<volatile uint8_t*>(0x10000000);
  for (; bytes > 0; --bytes) *port = static_cast<uint8_t>(*text++);
}

void tarn_test_exit(int status) {
  // The low half says how it ends, the high half is the exit status.
  *reinterpret_cast<volatile uint32_t*>(0x100000) = status == 0 ? 0x5555 : static_cast<uint32_t>(status) << 16 | 0x3333;
  for (;;) {
  }
}

[[gnu::weak]] void tarn_test_tick() { tarn_test_exit(139); }  // the timer's interrupt, once a program has started it

[[gnu::interrupt("machine"), gnu::aligned(4)]] void tarn_test_trap() {
  uint32_t cause;
  asm volatile("csrr %0, mcause" : "=r"(cause));
  if (cause == 0x80000007) return tarn_test_tick();
  constexpr char text[] = "trap\n";
  tarn_test_write(text, sizeof text - 1);
  tarn_test_exit(139);
}

[[gnu::naked, gnu::section(".text.start")]] void start() {
  asm volatile(
      ".option push\n\t.option norelax\n\tla gp, __global_pointer$\n\t.option pop\n\t"
      "la sp, stack_top\n\tla tp, tls_begin\n\tla t0, tarn_test_trap\n\tcsrw mtvec, t0\n\ttail tarn_test_run");
}

// What a C++ runtime library would bring: Debian has none for this target.
int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }  // main's end is the program's
void __cxa_pure_virtual() { tarn_test_exit(134); }
int __cxa_guard_acquire(char* done) { return *done == 0; }
void __cxa_guard_release(char* done) { *done = 1; }
}

// picolibc's streams.
static int put(char c, FILE*) {
  tarn_test_write(&c, 1);
  return static_cast<unsigned char>(c);
}
static FILE console = FDEV_SETUP_STREAM(put, nullptr, nullptr, _FDEV_SETUP_WRITE);
FILE* const stdin = &console;
FILE* const stdout = &console;
FILE* const stderr = &console;

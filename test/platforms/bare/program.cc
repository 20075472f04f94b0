// A bare-metal program from its memory to its end: variables get their initial values, constructors and main() run, and the
// program ends with main's value.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "startup.h"

extern "C" {
extern char data_image[], data_begin[], data_end[], bss_begin[], bss_end[], end[], heap_end[];
void __libc_init_array();
int main();
void* __dso_handle = nullptr;
void _init() {}
void _fini() {}

void tarn_test_run() {
  memcpy(data_begin, data_image, static_cast<size_t>(data_end - data_begin));
  memset(bss_begin, 0, static_cast<size_t>(bss_end - bss_begin));
  __libc_init_array();
  exit(main());
}

// What the C library wants of a system.
void _exit(int status) { tarn_test_exit(status); }
void* _sbrk(ptrdiff_t more) {
  static char* top = end;
  if (more > heap_end - top) return reinterpret_cast<void*>(-1);
  char* const before = top;
  top += more;
  return before;
}
void* sbrk(ptrdiff_t more) { return _sbrk(more); }
int _write(int, const void* text, size_t bytes) {
  tarn_test_write(static_cast<const char*>(text), bytes);
  return static_cast<int>(bytes);
}
int _read(int, void*, size_t) { return 0; }
int _close(int) { return -1; }
int _lseek(int, int, int) { return 0; }
int _fstat(int, void*) { return -1; }
int _isatty(int) { return 1; }
int _kill(int, int) { tarn_test_exit(134); }  // abort()
int _getpid() { return 1; }
int kill(int, int) { tarn_test_exit(134); }  // the names that picolibc uses
int getpid() { return 1; }
}

// What the start of a bare-metal program and its end have in common.
#ifndef TARN_TEST_PLATFORMS_BARE_STARTUP_H_
#define TARN_TEST_PLATFORMS_BARE_STARTUP_H_

#include <stddef.h>

extern "C" {
void tarn_test_write(const char* text, size_t bytes);
[[noreturn]] void tarn_test_exit(int status);
[[noreturn]] void tarn_test_run();  // the program, once there is a stack
}

#endif  // TARN_TEST_PLATFORMS_BARE_STARTUP_H_

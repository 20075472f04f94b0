// A hosted implementation of C++ and no system: the C library writes reports to stderr, which bare metal passes on to a
// debugger or a serial line, and there is nothing else. What a target gets that system.h doesn't know. Named as
// TARN_PLATFORM_HEADER, it hides the system of the machine: so firmware is tried where there is one.
#ifndef TARN_POLICIES_PLATFORM_BARE_H_
#define TARN_POLICIES_PLATFORM_BARE_H_

#include <cstddef>
#include <cstdio>

#include "tarn/policies/platform/none.h"

namespace tarn::platform {

struct system : no_system {
  static void write_error(const char* text, std::size_t bytes) noexcept { std::fwrite(text, 1, bytes, stderr); }
};

}  // namespace tarn::platform

#endif  // TARN_POLICIES_PLATFORM_BARE_H_

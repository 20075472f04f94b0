// A hosted implementation of C++ and no system: the C library writes reports to stderr, which bare metal passes on to a
// debugger or a serial line, and there is nothing else. Used for targets that system.h doesn't know. As TARN_PLATFORM_HEADER,
// it hides the system of the machine, so that firmware can be tested on a host.
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

// What every hosted implementation of C++ has, whatever the system: stderr. On bare metal the C library passes it on, to a
// debugger or a serial line.
#ifndef TARN_POLICIES_PLATFORM_HOSTED_H_
#define TARN_POLICIES_PLATFORM_HOSTED_H_

#include <cstddef>
#include <cstdio>

#include "tarn/policies/platform/none.h"

namespace tarn::platform {

struct hosted_system : no_system {
  static void write_error(const char* text, std::size_t bytes) noexcept { std::fwrite(text, 1, bytes, stderr); }
};

}  // namespace tarn::platform

#endif  // TARN_POLICIES_PLATFORM_HOSTED_H_

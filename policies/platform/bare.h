// A platform header (TARN_PLATFORM_HEADER) for a program that shall see no system, wherever it is compiled: firmware that is
// tried on a machine that has one.
#ifndef TARN_POLICIES_PLATFORM_BARE_H_
#define TARN_POLICIES_PLATFORM_BARE_H_

#include "tarn/policies/platform/hosted.h"

namespace tarn::platform {

struct system : hosted_system {};

}  // namespace tarn::platform

#endif  // TARN_POLICIES_PLATFORM_BARE_H_

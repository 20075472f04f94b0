// A platform header that brings nothing: what a program of bare metal sees, on a machine that has it all.
#ifndef TARN_TEST_PLATFORMS_SYSTEMS_NONE_H_
#define TARN_TEST_PLATFORMS_SYSTEMS_NONE_H_

#include "tarn/policies/platform/none.h"

namespace tarn::platform {

struct system : no_system {};

}  // namespace tarn::platform

#endif  // TARN_TEST_PLATFORMS_SYSTEMS_NONE_H_

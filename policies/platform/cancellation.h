// pthread_cancel(): a thread that is cancelled unwinds like one that throws, from within the system's functions that wait. The
// calls of a pool don't throw, so that this would end the process.
#ifndef TARN_POLICIES_PLATFORM_CANCELLATION_H_
#define TARN_POLICIES_PLATFORM_CANCELLATION_H_

#include "tarn/policies/platform/system.h"

namespace tarn::detail {

/// While it lives, its thread isn't cancelled, but after that, at its next cancellation point. Around the code of users that
/// runs inside a pool, and what waits.
using uncancelled = platform::system::uncancelled;

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_CANCELLATION_H_

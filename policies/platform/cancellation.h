// pthread_cancel(): a thread that is cancelled unwinds like one that throws, from within the system's functions that wait. The
// calls of a pool don't throw, so that this would end the process.
#ifndef TARN_POLICIES_PLATFORM_CANCELLATION_H_
#define TARN_POLICIES_PLATFORM_CANCELLATION_H_

#include "tarn/policies/platform/config.h"

#if defined(__has_include)
#if __has_include(<pthread.h>) && __has_include(<unistd.h>)
#include <pthread.h>
#define TARN_HAS_CANCELLATION 1
#endif
#endif

namespace tarn::detail {

/// While it lives, its thread isn't cancelled, but after that, at its next cancellation point. Around the code of users that
/// runs inside a pool, and what waits.
class uncancelled {
 public:
#if defined(TARN_HAS_CANCELLATION) && defined(PTHREAD_CANCEL_DISABLE)
  uncancelled() noexcept { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~uncancelled() {
    int mine;
    ::pthread_setcancelstate(before_, &mine);
  }
#else
  uncancelled() noexcept {}
#endif
  uncancelled(const uncancelled&) = delete;
  uncancelled& operator=(const uncancelled&) = delete;

 private:
  [[maybe_unused]] int before_ = 0;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_CANCELLATION_H_

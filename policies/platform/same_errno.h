#ifndef TARN_POLICIES_PLATFORM_SAME_ERRNO_H_
#define TARN_POLICIES_PLATFORM_SAME_ERRNO_H_

#include <cerrno>

#include "tarn/policies/platform/config.h"

namespace tarn::platform {

/// Leaves errno as it was: a system call that has nothing to wait for fails, and a free may wait.
class same_errno {
 public:
  same_errno() noexcept : before_(errno) {}
  ~same_errno() { errno = before_; }
  same_errno(const same_errno&) = delete;
  same_errno& operator=(const same_errno&) = delete;

 private:
  int before_;
};

}  // namespace tarn::platform

#endif  // TARN_POLICIES_PLATFORM_SAME_ERRNO_H_

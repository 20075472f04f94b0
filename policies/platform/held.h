// Scopes that hold a mutex: std::lock_guard and std::unique_lock would cost <mutex>.
#ifndef TARN_POLICIES_PLATFORM_HELD_H_
#define TARN_POLICIES_PLATFORM_HELD_H_

#include "tarn/policies/platform/config.h"

namespace tarn::detail {

template <class Mutex>
class [[nodiscard]] held {
 public:
  TARN_STEP explicit held(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  TARN_STEP ~held() { mutex_.unlock(); }
  held(const held&) = delete;
  held& operator=(const held&) = delete;

 private:
  Mutex& mutex_;
};

/// Holds the mutex if it was free.
template <class Mutex>
class [[nodiscard]] tried {
 public:
  explicit tried(Mutex& mutex) : mutex_(mutex.try_lock() ? detail::pointer_to(mutex) : nullptr) {}
  ~tried() {
    if (mutex_ != nullptr) mutex_->unlock();
  }
  tried(const tried&) = delete;
  tried& operator=(const tried&) = delete;

  explicit operator bool() const noexcept { return mutex_ != nullptr; }

 private:
  Mutex* mutex_;
};

/// Whether a guard holds what it should: an attempt may have failed. One that doesn't say so always does.
template <class Guard>
TARN_STEP constexpr bool is_held([[maybe_unused]] const Guard& guard) noexcept {
  if constexpr (requires { static_cast<bool>(guard); }) return static_cast<bool>(guard);
  else return true;
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_HELD_H_

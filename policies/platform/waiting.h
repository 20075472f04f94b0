// Waiting: for a word to change, for a moment, for the clock. On Linux the system wakes a thread that waits for a word (futex);
// elsewhere the thread looks again after a while.
#ifndef TARN_POLICIES_PLATFORM_WAITING_H_
#define TARN_POLICIES_PLATFORM_WAITING_H_

#include <sched.h>
#include <time.h>

#include <cerrno>
#include <climits>
#include <cstdint>

#include "tarn/policies/platform/cancellation.h"
#include "tarn/policies/platform/config.h"

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tarn::detail {

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

/// Lets other threads run.
inline void yield_thread() noexcept { ::sched_yield(); }
inline void sleep_microseconds(unsigned n) noexcept {
  const uncancelled whole;  // nanosleep is a cancellation point
  const same_errno same;
  const ::timespec pause{0, static_cast<long>(n) * 1000};
  ::nanosleep(&pause, nullptr);
}

/// Nanoseconds of a clock that is never set.
inline std::uint64_t steady_nanoseconds() noexcept {
  ::timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Returns when the word is no longer `value`, after wake_one(), or for no reason: the caller must check again. Not for words
/// in memory that processes share. \param nanoseconds  after which it returns at the latest; 0: without a limit
TARN_COLD inline void wait_while(const unsigned* word, unsigned value, std::uint64_t nanoseconds = 0) noexcept {
#if defined(__linux__)
  const same_errno same;
  constexpr int futex_wait_private = 128;
  const ::timespec limit{static_cast<time_t>(nanoseconds / 1'000'000'000), static_cast<long>(nanoseconds % 1'000'000'000)};
  ::syscall(SYS_futex, word, futex_wait_private, value, nanoseconds != 0 ? &limit : nullptr, nullptr, 0);
#else
  if (__atomic_load_n(word, __ATOMIC_RELAXED) != value) return;
  sleep_microseconds(nanoseconds != 0 && nanoseconds < 50'000 ? static_cast<unsigned>(nanoseconds / 1000) : 50);
#endif
}
TARN_COLD inline void wake([[maybe_unused]] const unsigned* word, [[maybe_unused]] int threads) noexcept {
#if defined(__linux__)
  constexpr int futex_wake_private = 129;
  ::syscall(SYS_futex, word, futex_wake_private, threads, nullptr, nullptr, 0);
#endif
}
/// Wakes one thread that waits for the word, if there is one.
inline void wake_one(const unsigned* word) noexcept { wake(word, 1); }
inline void wake_all(const unsigned* word) noexcept { wake(word, INT_MAX); }

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_WAITING_H_

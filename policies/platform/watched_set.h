// Several descriptors and a time as one descriptor, for a program's own loop.
#ifndef TARN_POLICIES_PLATFORM_WATCHED_SET_H_
#define TARN_POLICIES_PLATFORM_WATCHED_SET_H_

#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "tarn/policies/platform/standard.h"

#if __has_include(<sys/epoll.h>) && __has_include(<sys/timerfd.h>)
#include <sys/epoll.h>
#include <sys/timerfd.h>
#define TARN_HAS_EPOLL_ 1
#endif

namespace tarn::platform {

/// A descriptor that is readable when one of several has something to do, or when a time is over. Without epoll it is the
/// descriptor that open() names, and no time is looked at.
class watched_set {
 public:
  int descriptor() const noexcept { return set_; }

#if defined(TARN_HAS_EPOLL_)
  static constexpr bool is_whole = true;
  /// Returns the system's error, or 0.
  int open(int first) noexcept {
    set_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (set_ < 0) return errno;
    timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return timer_ >= 0 && add(timer_) && add(first) ? 0 : errno;
  }
  void close() noexcept {
    if (timer_ >= 0) ::close(timer_);
    if (set_ >= 0) ::close(set_);
    timer_ = set_ = -1;
  }
  bool add(int descriptor) noexcept { return change(EPOLL_CTL_ADD, descriptor, readable); }
  void await_room(int descriptor) noexcept { change(EPOLL_CTL_MOD, descriptor, EPOLLOUT); }
  /// Whether the set looks at a descriptor that was added. It stays added, so that this can't fail.
  void look_at(int descriptor, bool is_looked_at) noexcept { change(EPOLL_CTL_MOD, descriptor, is_looked_at ? readable : 0); }
  /// Closing a descriptor would not do: the child of a fork may hold it, too.
  void drop(int descriptor) noexcept { change(EPOLL_CTL_DEL, descriptor, 0); }
  /// Becomes readable after so many nanoseconds, until the next call; 0: never.
  void wake_after(std::uint64_t nanoseconds) noexcept {
    constexpr std::uint64_t second = 1'000'000'000;
    ::itimerspec time{};
    time.it_value.tv_sec = static_cast<decltype(time.it_value.tv_sec)>(nanoseconds / second);
    time.it_value.tv_nsec = static_cast<decltype(time.it_value.tv_nsec)>(nanoseconds % second);
    ::timerfd_settime(timer_, 0, &time, nullptr);
  }

 private:
  bool change(int what, int descriptor, std::uint32_t events) noexcept {
    ::epoll_event event{};
    event.events = events;
    event.data.fd = descriptor;
    return ::epoll_ctl(set_, what, descriptor, &event) == 0;
  }

  static constexpr std::uint32_t readable = EPOLLIN;

  int timer_ = -1;
#else
  static constexpr bool is_whole = false;
  int open(int first) noexcept { return set_ = first, 0; }
  void close() noexcept { set_ = -1; }
  bool add(int) noexcept { return true; }
  void await_room(int) noexcept {}
  void look_at(int, bool) noexcept {}
  void drop(int) noexcept {}
  void wake_after(std::uint64_t) noexcept {}

 private:
#endif
  int set_ = -1;
};

}  // namespace tarn::platform

#undef TARN_HAS_EPOLL_

#endif  // TARN_POLICIES_PLATFORM_WATCHED_SET_H_

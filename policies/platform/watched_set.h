// Several descriptors as one, for a program's own loop.
#ifndef TARN_POLICIES_PLATFORM_WATCHED_SET_H_
#define TARN_POLICIES_PLATFORM_WATCHED_SET_H_

#include <unistd.h>

#include <cstdint>

#include "tarn/policies/platform/standard.h"

#if __has_include(<sys/epoll.h>)
#include <sys/epoll.h>
#define TARN_HAS_EPOLL_ 1
#endif

namespace tarn::platform {

/// A descriptor that becomes readable when one of several has something to do. Without epoll it is one of them.
struct watched_set {
#if defined(TARN_HAS_EPOLL_)
  static constexpr bool is_whole = true;
  static int open(int) noexcept { return ::epoll_create1(EPOLL_CLOEXEC); }
  static void close(int set) noexcept { ::close(set); }
  static bool add(int set, int descriptor) noexcept { return change(set, EPOLL_CTL_ADD, descriptor, EPOLLIN); }
  static void await_room(int set, int descriptor) noexcept { change(set, EPOLL_CTL_MOD, descriptor, EPOLLOUT); }
  /// Closing a descriptor would not do: the child of a fork may hold it, too.
  static void drop(int set, int descriptor) noexcept { change(set, EPOLL_CTL_DEL, descriptor, 0); }

 private:
  static bool change(int set, int what, int descriptor, std::uint32_t events) noexcept {
    ::epoll_event event{};
    event.events = events;
    event.data.fd = descriptor;
    return ::epoll_ctl(set, what, descriptor, &event) == 0;
  }
#else
  static constexpr bool is_whole = false;
  static int open(int first) noexcept { return first; }
  static void close(int) noexcept {}
  static bool add(int, int) noexcept { return true; }
  static void await_room(int, int) noexcept {}
  static void drop(int, int) noexcept {}
#endif
};

}  // namespace tarn::platform

#undef TARN_HAS_EPOLL_

#endif  // TARN_POLICIES_PLATFORM_WATCHED_SET_H_

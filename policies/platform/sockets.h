// Sockets that have a path (AF_UNIX): only their owner can connect. For systems that define TARN_HAS_LOCAL_SOCKETS.
#ifndef TARN_POLICIES_PLATFORM_SOCKETS_H_
#define TARN_POLICIES_PLATFORM_SOCKETS_H_

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "tarn/policies/platform/config.h"

#if defined(__linux__)
#include <sys/syscall.h>
#endif

namespace tarn::platform {

/// Where a process listens. Functions that fail return the system's error, those that succeed 0.
class local_socket {
 public:
  static constexpr std::size_t longest_path = sizeof(::sockaddr_un::sun_path) - 1;

  int descriptor() const noexcept { return descriptor_; }

  /// Listens at a path, exclusively. Only the owner can connect, from the start. A socket that an exited process left there, at
  /// which no process listens, is replaced; nothing else is. Errors, in addition to the system's: ENAMETOOLONG; EADDRINUSE:
  /// another process listens; EEXIST: it isn't a socket.
  int listen(const char* path, std::size_t bytes) noexcept {
    if (bytes == 0 || std::memchr(path, 0, bytes) != nullptr) return EINVAL;
    if (bytes > longest_path) return ENAMETOOLONG;
    address_.sun_family = AF_UNIX;
    std::memcpy(address_.sun_path, path, bytes);
    descriptor_ = make();
    if (descriptor_ < 0) return errno;
    const folder_lock lock(address_.sun_path);
    const int error = bind_and_listen();
    if (error != 0) close(descriptor_);
    return error;
  }
  /// Ends it and takes the path away, if it is still this socket's. \param is_owner  false in the child of a fork: the
  /// parent goes on
  void close(bool is_owner) noexcept {
    if (descriptor_ < 0) return;
    if (is_owner) {
      {
        const folder_lock lock(address_.sun_path);
        if (is_at_path()) ::unlink(address_.sun_path);
      }
      ::shutdown(descriptor_, SHUT_RDWR);  // for copies of the descriptor in children
      for (int next = accept_next(); next >= 0; next = accept_next()) end(next);
    }
    close(descriptor_);
  }

  enum class outcome : unsigned char { done, nothing, failed };

  /// The next client. outcome::nothing: there is none. If the process has no more descriptors, a client is rejected;
  /// outcome::failed: that isn't possible now.
  /// \param reserve  a descriptor that is kept for that; -1: another thread took it, and it must be created again
  outcome accept(int& client, int& reserve) const noexcept {
    client = accept_next();
    if (client >= 0) return outcome::done;
    if (would_wait() || errno == ECONNABORTED) return outcome::nothing;
    if ((errno != EMFILE && errno != ENFILE) || reserve < 0) return outcome::failed;
    close(reserve);
    const int sent_away = accept_next();
    const bool was_nobody = sent_away < 0 && would_wait();
    if (sent_away >= 0) ::close(sent_away);
    reserve = spare();
    return sent_away >= 0 || was_nobody ? outcome::nothing : outcome::failed;
  }
  int spare() const noexcept { return ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0); }

  /// Reads some bytes. `bytes` 0 and outcome::done: the client sends no more.
  static outcome read(int client, char* to, std::size_t& bytes) noexcept {
    const auto got = retried([&] { return ::recv(client, to, bytes, MSG_DONTWAIT); });
    bytes = got > 0 ? static_cast<std::size_t>(got) : 0;
    return got >= 0 ? outcome::done : would_wait() ? outcome::nothing : outcome::failed;
  }
  static outcome write(int client, const char* from, std::size_t& bytes) noexcept {
    const auto put = retried([&] { return ::send(client, from, bytes, MSG_DONTWAIT | no_signal); });
    bytes = put > 0 ? static_cast<std::size_t>(put) : 0;
    return put >= 0 ? outcome::done : would_wait() ? outcome::nothing : outcome::failed;
  }
  /// Ends a connection, even if there are copies of it. Unread data from the client is dropped first, because with it the
  /// client would see an error instead of the end.
  static void end(int& client) noexcept {
    char rest[1024];
    std::size_t bytes = sizeof rest;
    for (int i = 0; i != 64 && read(client, rest, bytes) == outcome::done && bytes != 0; ++i) bytes = sizeof rest;
    ::shutdown(client, SHUT_RDWR);
    close(client);
  }
  /// Closes it, if there is one, and notes that there is none.
  static void close(int& descriptor) noexcept {
    if (descriptor >= 0) ::close(descriptor);
    descriptor = -1;
  }

  /// Two descriptors; when one is shut down, the other becomes readable.
  static int make_pair(int* both) noexcept {
#if defined(SOCK_CLOEXEC) && defined(__linux__)
    return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) == 0 ? 0 : errno;
#else
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, both) != 0) return errno;
    for (int i = 0; i != 2; ++i) ::fcntl(both[i], F_SETFD, FD_CLOEXEC);
    return 0;
#endif
  }
  static void shut(int descriptor) noexcept { ::shutdown(descriptor, SHUT_RDWR); }
  /// Waits until one of two is readable, or for that many milliseconds; -1: any time. A descriptor that is -1 is ignored.
  static void wait(int one, int other, int milliseconds) noexcept {
    ::pollfd both[] = {{one, POLLIN, 0}, {other, POLLIN, 0}};
    ::poll(both, 2, milliseconds);
  }
  static long process() noexcept { return static_cast<long>(::getpid()); }

 private:
#if defined(MSG_NOSIGNAL)
  static constexpr int no_signal = MSG_NOSIGNAL;
#else
  static constexpr int no_signal = 0;  // SO_NOSIGPIPE
#endif

  /// The folder is locked so that two processes don't take the same path at the same time. If the folder stays locked, or can't
  /// be locked, this continues without the lock after a second.
  class folder_lock {
   public:
    explicit folder_lock(const char* path) noexcept {
      char folder[longest_path + 2] = ".";
      if (const char* const last = std::strrchr(path, '/')) {
        const auto bytes = static_cast<std::size_t>(last - path) + 1;
        std::memcpy(folder, path, bytes);
        folder[bytes] = 0;
      }
      descriptor_ = ::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      for (int i = 0; descriptor_ >= 0 && i != 100 && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0; ++i)
        if (errno == EWOULDBLOCK) ::poll(nullptr, 0, 10);
        else break;
    }
    ~folder_lock() {
      if (descriptor_ < 0) return;
      ::flock(descriptor_, LOCK_UN);  // closing isn't enough, because the child of a fork may also hold it
      ::close(descriptor_);
    }
    folder_lock(const folder_lock&) = delete;
    folder_lock& operator=(const folder_lock&) = delete;

   private:
    int descriptor_;
  };

  static auto retried(auto call) noexcept -> decltype(call()) {
    auto result = call();
    while (result < 0 && errno == EINTR) result = call();
    return result;
  }
  static bool would_wait() noexcept { return errno == EAGAIN || errno == EWOULDBLOCK; }
  static int prepared(int descriptor) noexcept {
    if (descriptor < 0) return descriptor;
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
#if !defined(MSG_NOSIGNAL) && defined(SO_NOSIGPIPE)
    const int on = 1;
    ::setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    return descriptor;
  }
#if defined(SOCK_CLOEXEC) && defined(__linux__)
  static int make() noexcept { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }
  int accept_next() const noexcept {
    return retried([&] { return ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); });
  }
#else
  static int make() noexcept { return prepared(::socket(AF_UNIX, SOCK_STREAM, 0)); }
  int accept_next() const noexcept { return prepared(retried([&] { return ::accept(descriptor_, nullptr, nullptr); })); }
#endif

  const ::sockaddr* address() const noexcept { return reinterpret_cast<const ::sockaddr*>(&address_); }

  int bind_and_listen() noexcept {
    // Linux creates the file with the socket's mode. Elsewhere it has that of the umask until chmod, but no process can connect
    // before listen.
    ::fchmod(descriptor_, S_IRUSR | S_IWUSR);
    if (::bind(descriptor_, address(), sizeof address_) != 0) {
      if (errno != EADDRINUSE) return errno;
      if (const int error = remove_stale(); error != 0) return error;
      if (::bind(descriptor_, address(), sizeof address_) != 0) return errno;
    }
    struct ::stat its;
    if (::lstat(address_.sun_path, &its) != 0) return errno;
    file_ = its.st_ino;
    device_ = its.st_dev;
    const bool is_private = (its.st_mode & 0777) == (S_IRUSR | S_IWUSR);
    int error = is_private || ::chmod(address_.sun_path, S_IRUSR | S_IWUSR) == 0 ? 0 : errno;
    if (error == 0 && ::listen(descriptor_, 64) != 0) error = errno;
    if (error != 0) ::unlink(address_.sun_path);
    return error;
  }
  int remove_stale() const noexcept {
    struct ::stat there;
    if (::lstat(address_.sun_path, &there) != 0) return errno == ENOENT ? 0 : errno;
    if (!S_ISSOCK(there.st_mode)) return EEXIST;
    bool is_stale = false;
    if (const int error = look_for_listener(is_stale); error != 0) return error;
    if (!is_stale) return EADDRINUSE;
    return ::unlink(address_.sun_path) == 0 || errno == ENOENT ? 0 : errno;
  }
  /// The process that listens may be gone, and a child of it, created without the handlers of fork(), may hold the socket, so
  /// connections would wait for ever. In other programs a child may answer, so this waits a second for an answer; twice,
  /// because a child that has just started ends connections when it closes the socket.
  int look_for_listener(bool& is_stale) const noexcept {
    for (int turn = 0; turn != 2; ++turn) {
      int client = make();
      if (client < 0) return errno;
      const bool is_connected = ::connect(client, address(), sizeof address_) == 0;
      const bool is_refused = !is_connected && errno == ECONNREFUSED;
      const bool is_left = is_connected && is_of_gone_process(client);
      if (is_left) ::send(client, "help\n", 5, MSG_DONTWAIT | no_signal);
      const bool is_answered = is_left && becomes_readable(client, 1000);
      close(client);
      is_stale = is_refused || (is_left && !is_answered);
      if (!is_answered) break;
    }
    return 0;
  }
  /// Whether the process that listens is gone, as far as the system knows.
  static bool is_of_gone_process([[maybe_unused]] int client) noexcept {
#if defined(__linux__) && defined(SO_PEERCRED)
    struct {
      ::pid_t process;  // which called listen()
      ::uid_t user;
      ::gid_t group;
    } its{};
    ::socklen_t bytes = sizeof its;
    return ::getsockopt(client, SOL_SOCKET, SO_PEERCRED, &its, &bytes) == 0 && its.process > 0 && is_gone(its.process);
#else
    return false;
#endif
  }
  static bool becomes_readable(int descriptor, int milliseconds) noexcept {
    ::pollfd one{descriptor, POLLIN, 0};
    return retried([&] { return ::poll(&one, 1, milliseconds); }) == 1;
  }
#if defined(__linux__) && defined(SO_PEERCRED)
  /// A process that has exited, and that its parent hasn't waited for, is also gone.
  static bool is_gone(::pid_t process) noexcept {
    if (::kill(process, 0) != 0) return errno == ESRCH;
#if defined(SYS_pidfd_open)
    const auto its = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
    if (its < 0) return errno == ESRCH;
    const bool has_ended = becomes_readable(its, 0);
    ::close(its);
    return has_ended;
#else
    return false;
#endif
  }
#endif
  bool is_at_path() const noexcept {
    struct ::stat there;
    return ::lstat(address_.sun_path, &there) == 0 && there.st_ino == file_ && there.st_dev == device_;
  }

  int descriptor_ = -1;
  ::sockaddr_un address_{};
  ::ino_t file_ = 0;
  ::dev_t device_ = 0;
};

}  // namespace tarn::platform

// Several descriptors and a time as one descriptor, for a program's own loop.

#if __has_include(<sys/epoll.h>) && __has_include(<sys/timerfd.h>)
#include <sys/epoll.h>
#include <sys/timerfd.h>
#define TARN_HAS_EPOLL_ 1
#endif

namespace tarn::platform {

/// A descriptor that is readable when one of several needs attention, or when a time is over. Without epoll it is the
/// descriptor that open() was given, and times are ignored.
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
  /// Whether the set checks a descriptor that was added. It stays added, so that this can't fail.
  void look_at(int descriptor, bool is_looked_at) noexcept { change(EPOLL_CTL_MOD, descriptor, is_looked_at ? readable : 0); }
  /// Closing a descriptor isn't enough, because the child of a fork may also hold it.
  void drop(int descriptor) noexcept { change(EPOLL_CTL_DEL, descriptor, 0); }
  /// Becomes readable after that many nanoseconds, until the next call; 0: never.
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

#endif  // TARN_POLICIES_PLATFORM_SOCKETS_H_

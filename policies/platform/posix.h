// What POSIX systems have.
#ifndef TARN_POLICIES_PLATFORM_POSIX_H_
#define TARN_POLICIES_PLATFORM_POSIX_H_

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/none.h"
#include "tarn/policies/platform/same_errno.h"

#define TARN_THREAD_LOCAL thread_local
#define TARN_HAS_FORK 1
#if __has_include(<sys/un.h>) && __has_include(<poll.h>)
#define TARN_HAS_LOCAL_SOCKETS 1  // local_sockets.h
#endif

namespace tarn::platform {

struct posix_system : no_system {
  static constexpr bool has_threads = true;
  static constexpr bool has_thread_locals = true;
  static constexpr bool has_clock = true;
  static constexpr bool has_pages = true;
  static constexpr bool has_fork = true;

  /// While it lives, its thread isn't cancelled, but after that, at its next cancellation point (pthread_cancel).
  class uncancelled {
   public:
#if defined(PTHREAD_CANCEL_DISABLE)
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

#if defined(PTHREAD_CANCEL_DISABLE)
   private:
    int before_ = 0;
#endif
  };

  /// Another number in the child of a fork.
  static long process() noexcept { return static_cast<long>(::getpid()); }
  static void yield() noexcept { ::sched_yield(); }
  static void sleep(std::uint64_t nanoseconds) noexcept {
    const uncancelled whole;  // nanosleep is a cancellation point
    const same_errno same;
    const ::timespec pause = time_of(nanoseconds);
    ::nanosleep(&pause, nullptr);
  }
  static bool is_single_threaded() noexcept { return false; }
  static std::uint64_t nanoseconds() noexcept {
    ::timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * second + static_cast<std::uint64_t>(now.tv_nsec);
  }
  /// No system call waits for a word here: looks again after a while.
  static void wait_while(const unsigned* word, unsigned value, std::uint64_t limit) noexcept {
    constexpr std::uint64_t while_ = 50'000;
    if (__atomic_load_n(word, __ATOMIC_RELAXED) == value) sleep(limit != 0 && limit < while_ ? limit : while_);
  }
  static void wake(const unsigned*, int) noexcept {}

  static unsigned make_thread_key(void (*act)(void*)) noexcept {
    ::pthread_key_t key = {};
    return ::pthread_key_create(&key, act) == 0 ? static_cast<unsigned>(key) : no_key;
  }
  static bool set_thread_value(unsigned key, void* value) noexcept {
    return ::pthread_setspecific(static_cast<::pthread_key_t>(key), value) == 0;
  }
  static void* thread_value(unsigned key) noexcept { return ::pthread_getspecific(static_cast<::pthread_key_t>(key)); }
  static void drop_thread_key(unsigned key) noexcept { ::pthread_key_delete(static_cast<::pthread_key_t>(key)); }

  static std::size_t page_bytes() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }
  /// Without MAP_NORESERVE, so that Linux counts pages as memory once they were written, and doesn't merge them with neighbours
  /// that never were. Merging, and splitting again when access is next allowed, would double the time, and splitting can fail.
  static void* map_pages(std::size_t bytes, std::size_t alignment, std::size_t offset, bool open) noexcept {
    // The system aligns to its pages only: map as much more as alignment may need, and give both ends back. If it refuses to
    // take one, addresses are lost, but no memory.
    const std::size_t page = page_bytes();
    const std::size_t slack = alignment > page ? alignment - page : 0;
    void* const mapped = ::mmap(nullptr, bytes + slack, open ? PROT_READ | PROT_WRITE : PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    const std::size_t above = slack != 0 ? (reinterpret_cast<std::uintptr_t>(mapped) + offset) % alignment : 0;
    const std::size_t skip = above != 0 ? alignment - above : 0;
    char* const start = static_cast<char*>(mapped) + skip;
    if (skip != 0) ::munmap(mapped, skip);
    if (slack != skip) ::munmap(start + bytes, slack - skip);
    return start;
  }
  static void unmap_pages(void* start, std::size_t bytes) noexcept {
    if (::munmap(start, bytes) == 0) return;
    // This would split a mapping, and the process has too many already: the addresses are lost, but no memory.
    close_pages(start, bytes);
    empty_pages(start, bytes);
  }
  static bool open_pages(void* start, std::size_t bytes) noexcept {
    return ::mprotect(start, bytes, PROT_READ | PROT_WRITE) == 0;
  }
  static void close_pages(void* start, std::size_t bytes) noexcept { ::mprotect(start, bytes, PROT_NONE); }
  /// Pages that are locked are emptied, too, if the system can (Linux 5.18).
  static void empty_pages(void* start, std::size_t bytes) noexcept {
#if defined(MADV_DONTNEED_LOCKED)
    if (::madvise(start, bytes, MADV_DONTNEED_LOCKED) == 0) return;
#endif
    ::madvise(start, bytes, MADV_DONTNEED);
  }
  static int lock_pages(void* start, std::size_t bytes) noexcept { return ::mlock(start, bytes) == 0 ? 0 : errno; }

  /// The library's own: the C library drops what was registered from a library when that goes.
  TARN_ONE_IN_LIBRARY static bool at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept {
    return ::pthread_atfork(before, in_parent, in_child) == 0;
  }
  static void write_error(const char* text, std::size_t bytes) noexcept {
    for (std::size_t done = 0; done != bytes;) {
      const auto written = ::write(STDERR_FILENO, text + done, bytes - done);
      if (written <= 0) break;
      done += static_cast<std::size_t>(written);
    }
  }

 protected:
  static constexpr std::uint64_t second = 1'000'000'000;  // in nanoseconds
  static ::timespec time_of(std::uint64_t nanoseconds) noexcept {
    ::timespec time{};
    time.tv_sec = static_cast<decltype(time.tv_sec)>(nanoseconds / second);
    time.tv_nsec = static_cast<decltype(time.tv_nsec)>(nanoseconds % second);
    return time;
  }
};

}  // namespace tarn::platform

#endif  // TARN_POLICIES_PLATFORM_POSIX_H_

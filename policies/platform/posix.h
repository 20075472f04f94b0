// What POSIX systems have, and what Linux and Apple's systems have in addition.
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

#if defined(__linux__)
#include <fcntl.h>
#include <sys/syscall.h>

#include <cstring>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>  // glibc 2.32
#define TARN_KNOWS_SINGLE_THREAD 1
#endif
#endif

#define TARN_THREAD_LOCAL thread_local
#define TARN_HAS_FORK 1
#if __has_include(<sys/un.h>) && __has_include(<poll.h>)
#define TARN_HAS_LOCAL_SOCKETS 1  // sockets.h
#endif

namespace tarn::platform {

struct posix_system : no_system {
  static constexpr bool has_threads = true;
  static constexpr bool has_thread_locals = true;
  static constexpr bool has_clock = true;
  static constexpr bool has_pages = true;
  static constexpr bool has_fork = true;

  /// While it exists, its thread isn't cancelled (pthread_cancel); that happens later, at the thread's next cancellation point.
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

  static unsigned this_process() noexcept { return static_cast<unsigned>(::getpid()); }
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
  /// No system call waits for a word here, so this polls.
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
  /// Without MAP_NORESERVE, so that Linux counts pages as memory once they were written, and doesn't merge them with unwritten
  /// neighbours. Merging, and splitting again when access is next allowed, would double the time, and splitting can fail.
  static void* map_pages(std::size_t bytes, std::size_t alignment, std::size_t offset, bool open) noexcept {
    // The system aligns only to its pages: map as much more as alignment may need, and unmap both ends. If it refuses,
    // addresses are lost, but no memory.
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
    // This would split a mapping, and the process already has too many. The addresses are lost, but no memory.
    close_pages(start, bytes);
    empty_pages(start, bytes);
  }
  static bool open_pages(void* start, std::size_t bytes) noexcept {
    return ::mprotect(start, bytes, PROT_READ | PROT_WRITE) == 0;
  }
  static void close_pages(void* start, std::size_t bytes) noexcept { ::mprotect(start, bytes, PROT_NONE); }
  /// Locked pages are emptied as well, if the system can (Linux 5.18).
  static void empty_pages(void* start, std::size_t bytes) noexcept {
#if defined(MADV_DONTNEED_LOCKED)
    if (::madvise(start, bytes, MADV_DONTNEED_LOCKED) == 0) return;
#endif
    ::madvise(start, bytes, MADV_DONTNEED);
  }
  static int lock_pages(void* start, std::size_t bytes) noexcept { return ::mlock(start, bytes) == 0 ? 0 : errno; }

  /// Each library's own, because the C library drops handlers of a library when it is unloaded.
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

#if defined(__linux__)
/// Waiting for a word (futex), advice about pages, huge pages, and what a process can find out about itself.
struct linux_system : posix_system {
  static constexpr unsigned thread_keys = 32;  // glibc has the values of the first 32 in the thread; musl those of all

#if defined(TARN_KNOWS_SINGLE_THREAD)
  static bool is_single_threaded() noexcept { return __libc_single_threaded != 0; }
#endif

  static constexpr bool knows_threads = true;
  static std::uintptr_t this_thread() noexcept { return static_cast<std::uintptr_t>(::syscall(SYS_gettid)); }
  static bool is_gone(std::uintptr_t thread) noexcept {
    const same_errno same;
    return ::syscall(SYS_tgkill, ::getpid(), static_cast<long>(thread), 0) != 0 && errno == ESRCH;
  }

  static void wait_while(const unsigned* word, unsigned value, std::uint64_t limit) noexcept {
    const same_errno same;
    constexpr int futex_wait_private = 128;
    const kernel_time time{static_cast<kernel_word>(limit / second), static_cast<kernel_word>(limit % second)};
    ::syscall(SYS_futex, word, futex_wait_private, value, limit != 0 ? &time : nullptr, nullptr, 0);
  }
  static void wake(const unsigned* word, int threads) noexcept {
    constexpr int futex_wake_private = 129;
    ::syscall(SYS_futex, word, futex_wake_private, threads, nullptr, nullptr, 0);
  }

#if defined(MADV_HUGEPAGE)
  static constexpr bool has_huge_pages = true;
  static bool ask_for_huge_pages(void* start, std::size_t bytes) noexcept {
    return ::madvise(start, bytes, MADV_HUGEPAGE) == 0;
  }
  static void join_small_pages(void* start) noexcept {
    const same_errno same;
    constexpr int collapse = 25;  // MADV_COLLAPSE, Linux 6.1. It ignores whether the switch is off
    if (huge_pages_are_on()) ::madvise(start, huge_page_bytes, collapse);
  }
#endif

#if defined(MREMAP_MAYMOVE) && defined(MREMAP_FIXED)
  static constexpr bool has_moving_pages = true;
  static bool move_pages(void* from, std::size_t bytes, void* to, std::size_t bytes_there) noexcept {
    return ::mremap(from, bytes, bytes_there, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to;
  }
  static bool map_pages_at(void* start, std::size_t bytes, bool over) noexcept {
    constexpr int unless_mapped = 0x100000;  // MAP_FIXED_NOREPLACE, Linux 4.17. Before, the address is a wish
    void* const mapped = ::mmap(start, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | (over ? MAP_FIXED : unless_mapped), -1, 0);
    if (mapped != start && mapped != MAP_FAILED) ::munmap(mapped, bytes);
    return mapped == start;
  }
#endif

  static constexpr bool has_page_advice = true;
  static constexpr int discard = MADV_DONTNEED;
  static constexpr int free_lazily = 8;      // MADV_FREE
  static constexpr int populate_write = 23;  // MADV_POPULATE_WRITE, Linux 5.14
  static int advise(void* start, std::size_t bytes, int advice) noexcept { return ::madvise(start, bytes, advice); }
  /// Several runs in one call: the processors that run other threads of the process are interrupted once, not once a run. A
  /// constant names the process (Linux 6.15), not a descriptor, which would have to be opened. A fork's child would hold its
  /// parent's, and a program that closes all unknown descriptors would close it.
  static long advise_all([[maybe_unused]] const void* runs, [[maybe_unused]] std::size_t n,
                         [[maybe_unused]] int advice) noexcept {
#if defined(SYS_process_madvise)
    constexpr int pidfd_self_thread = -10000;
    return ::syscall(SYS_process_madvise, pidfd_self_thread, runs, n, advice, 0);
#else
    errno = ENOSYS;
    return -1;
#endif
  }

  static bool read_memory_map(auto&& take) noexcept {
    const uncancelled whole;
    const int file = ::open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    char text[4096];
    ssize_t got;
    while ((got = ::read(file, text, sizeof text)) > 0 || (got < 0 && errno == EINTR))
      if (got > 0) take(static_cast<const char*>(text), static_cast<std::size_t>(got));
    ::close(file);
    return got == 0;
  }
  static bool read_anywhere(const void* from, void* to, std::size_t bytes) noexcept {
    struct piece {  // iovec, without its header
      const void* at;
      std::size_t bytes;
    };
    const piece here{to, bytes}, there{from, bytes};
    return ::syscall(SYS_process_vm_readv, ::getpid(), &here, 1ul, &there, 1ul, 0ul) == static_cast<long>(bytes);
  }

  /// The 16 random bytes that Linux gives every program at its start (AT_RANDOM): every library of the process has the same.
  static bool random_words(std::uint64_t* words) noexcept {
    const auto* const random = reinterpret_cast<const char*>(auxiliary_value(random_bytes));
    if (random != nullptr) std::memcpy(words, random, 2 * sizeof *words);
    return random != nullptr;
  }

 private:
  /// What the machine's switch was at the first call.
  static bool huge_pages_are_on() noexcept {
    enum { unknown, on, off };
    static constinit int seen = unknown;
    int now = __atomic_load_n(&seen, __ATOMIC_RELAXED);
    if (now == unknown) {
      const uncancelled whole;
      char text[64] = {};  // always madvise [never]
      const int file = ::open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
      const ssize_t got = file < 0 ? 0 : ::read(file, text, sizeof text - 1);
      if (file >= 0) ::close(file);
      now = got > 0 && std::strstr(text, "[never]") == nullptr ? on : off;
      __atomic_store_n(&seen, now, __ATOMIC_RELAXED);
    }
    return now == on;
  }

  /// getauxval(). <sys/auxv.h>, which has it, includes <elf.h>: 370 lines for every file with a pool.
  static unsigned long auxiliary_value(unsigned long) noexcept __asm__("getauxval");
  static constexpr unsigned long random_bytes = 25;

  // The kernel's, whatever the C library's time_t is: 32-bit musl has 64 bits there, and SYS_futex takes long.
  using kernel_word = long;
  struct kernel_time {
    kernel_word seconds;
    kernel_word nanoseconds;
  };
};
#endif

#if defined(__APPLE__)
struct darwin_system : posix_system {
  static constexpr unsigned thread_keys = 512;  // all values are in the thread

#if defined(MADV_FREE)
  static constexpr bool has_page_advice = true;
  static constexpr int discard = MADV_FREE;  // MADV_DONTNEED frees nothing here
  static constexpr int free_lazily = MADV_FREE;
  static constexpr int populate_write = -1;  // not known: page_memory writes to each page
  static int advise(void* start, std::size_t bytes, int advice) noexcept { return ::madvise(start, bytes, advice); }
  static long advise_all(const void*, std::size_t, int) noexcept {
    errno = ENOSYS;
    return -1;
  }
#endif
};
#endif

}  // namespace tarn::platform

#undef TARN_KNOWS_SINGLE_THREAD

#endif  // TARN_POLICIES_PLATFORM_POSIX_H_

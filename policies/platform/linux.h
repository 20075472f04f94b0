// What Linux has besides POSIX: waiting for a word (futex), advice about pages, huge pages, and what a process can learn of
// itself.
#ifndef TARN_POLICIES_PLATFORM_LINUX_H_
#define TARN_POLICIES_PLATFORM_LINUX_H_

#include <fcntl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tarn/policies/platform/posix.h"

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>  // glibc 2.32
#define TARN_KNOWS_SINGLE_THREAD 1
#endif

namespace tarn::platform {

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
  static unsigned this_process() noexcept { return static_cast<unsigned>(::getpid()); }

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
    constexpr int collapse = 25;  // MADV_COLLAPSE, Linux 6.1. It doesn't ask whether the switch is off
    if (huge_pages_are_on()) ::madvise(start, huge_page_bytes, collapse);
  }
#endif

  static constexpr bool has_page_advice = true;
  static constexpr int discard = MADV_DONTNEED;
  static constexpr int free_lazily = 8;      // MADV_FREE
  static constexpr int populate_write = 23;  // MADV_POPULATE_WRITE, Linux 5.14
  static int advise(void* start, std::size_t bytes, int advice) noexcept { return ::madvise(start, bytes, advice); }
  /// Several runs at once: the processors that run other threads of the process are interrupted once, not once a run. The
  /// process is named by a constant (Linux 6.15), not by a descriptor of its own: that would have to be opened, a fork's child
  /// would hold its parent's, and a program that closes all it doesn't know would close it.
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

  template <class Take>
  static bool read_memory_map(Take&& take) noexcept {
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
  /// What the machine's switch was when it was first asked.
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

  /// getauxval(). <sys/auxv.h>, which has it, brings <elf.h>: 370 lines for every file with a pool.
  static unsigned long auxiliary_value(unsigned long) noexcept __asm__("getauxval");
  static constexpr unsigned long random_bytes = 25;

  // The kernel's, whatever the C library's time_t is: 32-bit musl has 64 bits there, and SYS_futex takes long.
  using kernel_word = long;
  struct kernel_time {
    kernel_word seconds;
    kernel_word nanoseconds;
  };
};

}  // namespace tarn::platform

#undef TARN_KNOWS_SINGLE_THREAD

#endif  // TARN_POLICIES_PLATFORM_LINUX_H_

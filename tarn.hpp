// tarn 0.2.0 in one header: observing_thread. Made by `tools/amalgamate observing_thread`; change the headers, not this.
// A program includes either this or tarn's headers, not both.
//
// MIT License
//
// Copyright (c) 2026 the tarn authors
//
// Permission is hereby granted, free of charge, to any person obtaining a copy
// of this software and associated documentation files (the "Software"), to deal
// in the Software without restriction, including without limitation the rights
// to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
// copies of the Software, and to permit persons to whom the Software is
// furnished to do so, subject to the following conditions:
//
// The above copyright notice and this permission notice shall be included in all
// copies or substantial portions of the Software.
//
// THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
// IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
// FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
// AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
// LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
// OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
// SOFTWARE.

#ifndef TARN_ONE_HEADER_OBSERVING_THREAD_
#define TARN_ONE_HEADER_OBSERVING_THREAD_

#if defined(TARN_VERSION_H_)
#error "tarn: this file is tarn in one header, and tarn's headers or another such file came before it; include only one of them"
#else

// ---- tarn/policies/platform/standard.h ----

// Ends a compilation for an older standard with one sentence instead of hundreds of errors. Each header that would include no
// other of tarn's includes this one; so the others reach it before anything that needs C++20.
#ifndef TARN_POLICIES_PLATFORM_STANDARD_H_
#define TARN_POLICIES_PLATFORM_STANDARD_H_

#if defined(_MSVC_LANG) ? _MSVC_LANG < 202002L : __cplusplus < 202002L
#error "tarn: [B1] this file is compiled for an older standard than C++20; add -std=c++20 to the compiler's flags"
#include "see_the_error_above"  // no such file: g++ and clang go on after an #error, but not after this
#endif

#endif  // TARN_POLICIES_PLATFORM_STANDARD_H_

// ---- tarn/version.h ----

// Which tarn this is. Macros only, so that it costs nothing; every header of tarn's reaches it.
//
//   #if TARN_VERSION >= 200    // 0.2.0 or later
#ifndef TARN_VERSION_H_
#define TARN_VERSION_H_

#define TARN_VERSION_MAJOR 0
#define TARN_VERSION_MINOR 2
#define TARN_VERSION_PATCH 0

/// One number that grows with each version: major * 10000 + minor * 100 + patch. 0.2.0 is 200, and 1.12.3 would be 11203.
#define TARN_VERSION (TARN_VERSION_MAJOR * 10000 + TARN_VERSION_MINOR * 100 + TARN_VERSION_PATCH)

/// "major.minor.patch"
#define TARN_VERSION_STRING "0.2.0"

#endif  // TARN_VERSION_H_

// ---- tarn/policies/platform/config.h ----

// What differs between compilers and builds. None of these conditions changes a layout.
#ifndef TARN_POLICIES_PLATFORM_CONFIG_H_
#define TARN_POLICIES_PLATFORM_CONFIG_H_

#if defined(__cpp_exceptions)
#define TARN_EXCEPTIONS 1
#else
#define TARN_EXCEPTIONS 0
#endif

#if defined(_MSC_VER)
#define TARN_NO_UNIQUE_ADDRESS [[msvc::no_unique_address]]
#define TARN_UNREACHABLE() __assume(false)
#define TARN_NOINLINE __declspec(noinline)
#define TARN_COLD __declspec(noinline)
#define TARN_RETURNS_NONNULL
#else
#define TARN_NO_UNIQUE_ADDRESS [[no_unique_address]]
#define TARN_UNREACHABLE() __builtin_unreachable()
#define TARN_NOINLINE [[gnu::noinline]]     // slow, but run for every 64th block: optimised for speed
#define TARN_COLD [[gnu::noinline, gnu::cold]]  // once for each chunk, or never
#define TARN_RETURNS_NONNULL [[gnu::returns_nonnull]]
#endif

// A step of the hot path: inlined in debug builds, too, and never stopped in by a debugger. At -O0 a pair of calls takes 7
// instead of 18 ns (prototype).
#if defined(__GNUC__)
#define TARN_STEP [[gnu::always_inline, gnu::artificial]] inline
#else
#define TARN_STEP inline
#endif

// Whether the file is compiled for size: then two ways that do the same may be one. Files that aren't may use the same pool.
#if defined(__OPTIMIZE_SIZE__)
#define TARN_FOR_SIZE true
#else
#define TARN_FOR_SIZE false
#endif

// A deleted function, and what to tell who calls it. Before C++26 the sentence reaches them by the note that shows this line.
#if defined(__cpp_deleted_function) && __cplusplus > 202302L
#define TARN_DELETED(...) delete (__VA_ARGS__)
#else
#define TARN_DELETED(...) delete
#endif

#if defined(__SANITIZE_THREAD__)
#define TARN_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TARN_TSAN 1
#endif
#endif

#if defined(__ELF__)
#define TARN_ONE_IN_PROCESS [[gnu::visibility("default")]]  // one for all libraries, if their build allows it
#define TARN_ONE_IN_LIBRARY [[gnu::visibility("hidden")]]   // each library has its own, whatever its build
// A thread-local variable of a shared library, reached without a call: 1.3 instead of 3.0 ns a pair (prototype, Sapphire
// Rapids). It uses some of the few KiB reserved for libraries loaded later, so there is one such variable.
#define TARN_NEAR_TLS [[gnu::tls_model("initial-exec")]]
#define TARN_FIRST_AT_LOAD [[maybe_unused, gnu::init_priority(101)]]  // made before the library's other static objects
#define TARN_AT_UNLOAD [[gnu::destructor]]  // of a shared library: called before its static objects are destroyed
#else
#define TARN_ONE_IN_PROCESS
#define TARN_ONE_IN_LIBRARY
#define TARN_NEAR_TLS
#define TARN_FIRST_AT_LOAD [[maybe_unused]]
#if defined(__GNUC__)
#define TARN_AT_UNLOAD [[gnu::destructor]]
#else
#define TARN_AT_UNLOAD [[maybe_unused]]
#endif
#endif

/// The name of the function that it stands in, with its template arguments.
#if defined(__GNUC__)
#define TARN_FUNCTION_NAME __PRETTY_FUNCTION__
#elif defined(_MSC_VER)
#define TARN_FUNCTION_NAME __FUNCSIG__
#else
#define TARN_FUNCTION_NAME ""
#endif

/// In the declaration of a template that libraries share, and in its definition. Not [[...]]: clang takes none there.
#if !defined(_WIN32)
#define TARN_SHARED_ __attribute__((visibility("default")))  // the definition finds it there
#define TARN_SHARED_HERE_
#elif defined(__GNUC__)
#define TARN_SHARED_ __declspec(dllexport)  // of whoever defines it; the linker finds it for the others (auto-import)
#define TARN_SHARED_HERE_
#else
#if defined(TARN_DEFINES_SHARED_POOLS)
#define TARN_SHARED_
#else
#define TARN_SHARED_ __declspec(dllimport)
#endif
#define TARN_SHARED_HERE_ __declspec(dllexport)
#endif

/// As default arguments: where the function was called. <source_location> is missing in clang 14.
#define TARN_CALLER_FILE __builtin_FILE()
#define TARN_CALLER_LINE __builtin_LINE()

namespace tarn::platform {

// What the processor can do at once. Where it can't, the compiler calls functions of a library, which lock.
#if defined(__GCC_ATOMIC_POINTER_LOCK_FREE) && defined(__GCC_ATOMIC_LLONG_LOCK_FREE)
inline constexpr bool has_atomics = __GCC_ATOMIC_POINTER_LOCK_FREE == 2;     // compare-and-swap of a pointer: not on ARMv6-M
inline constexpr bool has_wide_atomics = __GCC_ATOMIC_LLONG_LOCK_FREE == 2;  // of 64 bits
inline constexpr bool has_byte_atomics = !has_atomics || __GCC_ATOMIC_CHAR_LOCK_FREE == 2;  // false: RISC-V with g++ before 13
#else
inline constexpr bool has_atomics = true;
inline constexpr bool has_wide_atomics = sizeof(void*) == 8;
inline constexpr bool has_byte_atomics = true;
#endif

/// Whether the processor divides. Where it can't (ARMv6-M, RISC-V without M), the compiler calls 280 bytes of a library.
#if (defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && !defined(__ARM_FEATURE_IDIV)) || \
    (defined(__riscv) && !defined(__riscv_div))
inline constexpr bool has_division = false;
#else
inline constexpr bool has_division = true;
#endif

}  // namespace tarn::platform

namespace tarn::detail {

/// Asks for the cache line of a block that is about to be written. Never faults, whatever the address.
TARN_STEP void prefetch_for_write([[maybe_unused]] const void* block) noexcept {
#if defined(__GNUC__)
  __builtin_prefetch(block, 1);
#endif
}

/// The same address, known to be aligned to a pointer: a processor that reads words at such addresses only (ARMv6-M, RISC-V)
/// otherwise gets a call of memcpy for each word that is copied.
template <class T>
[[nodiscard]] TARN_STEP T* word_aligned(T* place) noexcept {
#if defined(__GNUC__)
  return static_cast<T*>(__builtin_assume_aligned(place, alignof(void*)));
#else
  return place;
#endif
}

/// Tells the processor that this thread waits for another.
TARN_STEP void pause_processor() noexcept {
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
  __builtin_ia32_pause();
#elif defined(__GNUC__) && defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Hides where a pointer comes from. A static object addressed directly costs 2.5 to 3.4 times as much as one behind a
/// register, because the processor forwards a stored list head only through a base register (prototype, Sapphire Rapids).
template <class T>
[[nodiscard]] TARN_STEP T* launder_address(T* p) noexcept {
#if defined(__GNUC__)
  asm("" : "+r"(p));  // not volatile: it can be hoisted out of loops
#endif
  return p;
}

/// Makes an argument count as used, so that no compiler drops it from the function's signature.
TARN_STEP void keep_argument([[maybe_unused]] const void* argument) noexcept {
#if defined(__GNUC__)
  asm volatile("" : : "r"(argument));
#endif
}

/// Keeps the compiler from dropping earlier stores, even to an object that ends here.
inline void keep_stores([[maybe_unused]] const void* object) noexcept {
#if defined(__GNUC__)
  asm volatile("" : : "r"(object) : "memory");
#endif
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_CONFIG_H_

// ---- tarn/policies/platform/system.h ----

// Which system this is: the one place that asks. TARN_PLATFORM_HEADER, defined in every file of the program, names a header
// that brings another (docs/platforms.md).
#ifndef TARN_POLICIES_PLATFORM_SYSTEM_H_
#define TARN_POLICIES_PLATFORM_SYSTEM_H_

// ---- tarn/policies/platform/none.h ----

// What there is without an operating system, and what every service is called: the other systems derive from this, and so does
// one of your own (TARN_PLATFORM_HEADER, docs/platforms.md).
#ifndef TARN_POLICIES_PLATFORM_NONE_H_
#define TARN_POLICIES_PLATFORM_NONE_H_

#include <cstddef>
#include <cstdint>

namespace tarn::platform {

/// The services of a system. A constant says whether there is one; its functions, which stand below it, are used if there is.
struct no_system {
  // ---- threads. Without them, nothing is locked by tarn::mutex, and atomic words are what the processor has
  static constexpr bool has_threads = false;
  /// Lets other threads run.
  static void yield() noexcept {}
  static void sleep(std::uint64_t) noexcept {}  // nanoseconds
  /// Returns when the word is no longer `value`, after wake(), or for no reason. \param nanoseconds  the most to wait; 0: any
  static void wait_while(const unsigned*, unsigned, std::uint64_t) noexcept {}
  static void wake(const unsigned*, int) noexcept {}  // so many threads that wait for the word
  /// Whether the process has had one thread only. False: not known.
  static bool is_single_threaded() noexcept { return true; }
  /// A number of the calling thread, never 0, that no other has as long as it runs.
  static std::uintptr_t this_thread() noexcept { return 1; }

  // ---- changes of a word that the processor can't make at once, such as on a Cortex-M0+: made while a section lives, which
  // masks interrupts
  static constexpr bool has_atomic_section = false;
  struct atomic_section {};

  // ---- variables of a thread: the language's thread_local, under the name TARN_THREAD_LOCAL
  static constexpr bool has_thread_locals = false;
  /// Values that a thread has of its own, under numbers below `thread_keys`, and that need no memory. Their function is called
  /// with the value when a thread ends.
  static constexpr unsigned thread_keys = 0;
  static unsigned make_thread_key(void (*)(void*)) noexcept { return no_key; }
  static bool set_thread_value(unsigned, void*) noexcept { return false; }
  static void* thread_value(unsigned) noexcept { return nullptr; }  // the calling thread's; null: it set none
  static void drop_thread_key(unsigned) noexcept {}
  /// Whether that may come after the thread's variables are gone, and destructors of variables aren't to be relied on.
  static constexpr bool keys_run_last = false;
  static constexpr unsigned no_key = ~0u;

  // ---- a clock that is never set
  static constexpr bool has_clock = false;
  static std::uint64_t nanoseconds() noexcept { return 0; }

  // ---- pages of memory
  static constexpr bool has_pages = false;
  static std::size_t page_bytes() noexcept { return 4096; }
  /// Addresses of whole pages, of which that at `offset`, whole pages, is aligned; null: refused. They may be used if `open`.
  /// \param bytes, alignment, offset, open
  static void* map_pages(std::size_t, std::size_t, std::size_t, bool) noexcept { return nullptr; }
  /// Takes back what map_pages() gave, exactly. If the system refuses, the addresses are lost, but no memory.
  static void unmap_pages(void*, std::size_t) noexcept {}
  static bool open_pages(void*, std::size_t) noexcept { return false; }
  static void close_pages(void*, std::size_t) noexcept {}  // their contents may go
  static void empty_pages(void*, std::size_t) noexcept {}  // their contents and their memory go
  static int lock_pages(void*, std::size_t) noexcept { return 1; }  // 0, or the system's error
  static constexpr std::size_t huge_page_bytes = 2 * 1024 * 1024;
  static constexpr bool has_huge_pages = false;
  static bool ask_for_huge_pages(void*, std::size_t) noexcept { return false; }
  /// Several runs of pages whose memory goes back, or comes: see page_memory.h.
  static constexpr bool has_page_advice = false;
  /// Passes the text of /proc/self/smaps to take(text, bytes). Returns whether there is one.
  template <class Take>
  static bool read_memory_map(Take&&) noexcept {
    return false;
  }
  /// Copies bytes from any address, valid or not. Returns whether it could.
  static bool read_anywhere(const void*, void*, std::size_t) noexcept { return false; }

  // ---- copies of the process. A system with them defines TARN_HAS_FORK
  static constexpr bool has_fork = false;
  /// Returns whether the functions will be called, until the library is unloaded.
  static bool at_fork(void (*)(), void (*)(), void (*)()) noexcept { return false; }  // before, in the parent, in the child

  // ---- what a thread must not be taken away by while it is inside a pool
  struct uncancelled {
    uncancelled() noexcept {}
    uncancelled(const uncancelled&) = delete;
    uncancelled& operator=(const uncancelled&) = delete;
  };

  // ---- the rest
  /// Two words that nobody can guess, the same at each call. Returns whether there are.
  static bool random_words(std::uint64_t*) noexcept { return false; }
  /// Writes a report where the program's errors go: nowhere.
  static void write_error(const char*, std::size_t) noexcept {}
};

}  // namespace tarn::platform

#endif  // TARN_POLICIES_PLATFORM_NONE_H_
#if defined(TARN_PLATFORM_HEADER)
#elif defined(__linux__)
#define TARN_NEEDS_POLICIES_PLATFORM_SAME_ERRNO_
#elif defined(__APPLE__)
#define TARN_NEEDS_POLICIES_PLATFORM_SAME_ERRNO_
#elif defined(_WIN32)
#elif defined(__unix__) && !defined(__wasi__) && __has_include(<sys/mman.h>)
#define TARN_NEEDS_POLICIES_PLATFORM_SAME_ERRNO_
#elif __STDC_HOSTED__
#else
#endif
#if defined(TARN_HAS_LOCAL_SOCKETS)
#define TARN_NEEDS_POLICIES_PLATFORM_SAME_ERRNO_
#else
#endif
#if defined(TARN_NEEDS_POLICIES_PLATFORM_SAME_ERRNO_)

// ---- tarn/policies/platform/same_errno.h ----

#ifndef TARN_POLICIES_PLATFORM_SAME_ERRNO_H_
#define TARN_POLICIES_PLATFORM_SAME_ERRNO_H_

#include <cerrno>

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
#undef TARN_NEEDS_POLICIES_PLATFORM_SAME_ERRNO_
#endif
#if defined(TARN_PLATFORM_HEADER)
#elif defined(__linux__)
#define TARN_NEEDS_POLICIES_PLATFORM_POSIX_
#elif defined(__APPLE__)
#define TARN_NEEDS_POLICIES_PLATFORM_POSIX_
#elif defined(_WIN32)
#elif defined(__unix__) && !defined(__wasi__) && __has_include(<sys/mman.h>)
#define TARN_NEEDS_POLICIES_PLATFORM_POSIX_
#elif __STDC_HOSTED__
#else
#endif
#if defined(TARN_NEEDS_POLICIES_PLATFORM_POSIX_)

// ---- tarn/policies/platform/posix.h ----

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
#undef TARN_NEEDS_POLICIES_PLATFORM_POSIX_
#endif

// ---- tarn/policies/platform/system.h, continued ----

#if defined(TARN_PLATFORM_HEADER)
#include TARN_PLATFORM_HEADER  // defines tarn::platform::system, and the macros of posix.h if it has what they say
#elif defined(__linux__)

// ---- tarn/policies/platform/linux.h ----

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

// ---- tarn/policies/platform/system.h, continued ----

#define TARN_SYSTEM_ linux_system
#elif defined(__APPLE__)

// ---- tarn/policies/platform/darwin.h ----

// What macOS and iOS have besides POSIX.
#ifndef TARN_POLICIES_PLATFORM_DARWIN_H_
#define TARN_POLICIES_PLATFORM_DARWIN_H_

namespace tarn::platform {

struct darwin_system : posix_system {
  static constexpr unsigned thread_keys = 512;  // all values stand in the thread

#if defined(MADV_FREE)
  static constexpr bool has_page_advice = true;
  static constexpr int discard = MADV_FREE;  // MADV_DONTNEED gives nothing back here
  static constexpr int free_lazily = MADV_FREE;
  static constexpr int populate_write = -1;  // not known: page_memory writes to each page
  static int advise(void* start, std::size_t bytes, int advice) noexcept { return ::madvise(start, bytes, advice); }
  static long advise_all(const void*, std::size_t, int) noexcept {
    errno = ENOSYS;
    return -1;
  }
#endif
};

}  // namespace tarn::platform

#endif  // TARN_POLICIES_PLATFORM_DARWIN_H_

// ---- tarn/policies/platform/system.h, continued ----

#define TARN_SYSTEM_ darwin_system
#elif defined(_WIN32)

// ---- tarn/policies/platform/windows.h ----

// What Windows has, from Windows 7 on; what came later is looked for.
#ifndef TARN_POLICIES_PLATFORM_WINDOWS_H_
#define TARN_POLICIES_PLATFORM_WINDOWS_H_

// ---- tarn/policies/platform/windows_calls.h ----

// What tarn calls of kernel32, declared as the Windows SDK declares it, without <windows.h>: that costs 70,000 lines and brings
// macros such as min. A program may include it before or after. Names that a namespace keeps apart are the same C functions.
#ifndef TARN_POLICIES_PLATFORM_WINDOWS_CALLS_H_
#define TARN_POLICIES_PLATFORM_WINDOWS_CALLS_H_

#if defined(_WIN32)

#include <type_traits>

// The SDK's own types, which stay incomplete here.
struct _FILETIME;
struct _MEMORY_BASIC_INFORMATION;
struct _OVERLAPPED;
struct _SECURITY_ATTRIBUTES;
union _LARGE_INTEGER;
#if !defined(NO_STRICT)
struct HINSTANCE__;
#endif

#if defined(_MSC_VER)
extern "C" void* _InterlockedCompareExchangePointer(void* volatile*, void*, void*);
#endif

namespace tarn::platform::windows {

using dword = unsigned long;
using size = std::conditional_t<sizeof(void*) == 8, unsigned long long, unsigned long>;  // SIZE_T
using procedure = std::conditional_t<sizeof(void*) == 8, long long, int>(__stdcall*)();  // FARPROC
#if defined(NO_STRICT)
using module = void*;
#else
using module = ::HINSTANCE__*;
#endif

extern "C" {
// ---- memory
__declspec(dllimport) void* __stdcall VirtualAlloc(void*, size, dword, dword);
__declspec(dllimport) int __stdcall VirtualFree(void*, size, dword);
__declspec(dllimport) int __stdcall VirtualLock(void*, size);
__declspec(dllimport) int __stdcall VirtualUnlock(void*, size);
__declspec(dllimport) size __stdcall VirtualQuery(const void*, ::_MEMORY_BASIC_INFORMATION*, size);
__declspec(dllimport) int __stdcall ReadProcessMemory(void*, const void*, void*, size, size*);
__declspec(dllimport) void* __stdcall CreateFileMappingW(void*, ::_SECURITY_ATTRIBUTES*, dword, dword, dword, const wchar_t*);
__declspec(dllimport) void* __stdcall MapViewOfFile(void*, dword, dword, dword, size);
__declspec(dllimport) int __stdcall UnmapViewOfFile(const void*);
__declspec(dllimport) void* __stdcall GetProcessHeap();
// ---- threads and time
__declspec(dllimport) int __stdcall SwitchToThread();
__declspec(dllimport) void __stdcall Sleep(dword);
__declspec(dllimport) void* __stdcall CreateWaitableTimerExW(::_SECURITY_ATTRIBUTES*, const wchar_t*, dword, dword);
__declspec(dllimport) int __stdcall SetWaitableTimer(void*, const ::_LARGE_INTEGER*, long,
                                                     void(__stdcall*)(void*, dword, dword), void*, int);
__declspec(dllimport) dword __stdcall WaitForSingleObject(void*, dword);
__declspec(dllimport) int __stdcall QueryPerformanceCounter(::_LARGE_INTEGER*);
__declspec(dllimport) int __stdcall QueryPerformanceFrequency(::_LARGE_INTEGER*);
__declspec(dllimport) dword __stdcall FlsAlloc(void(__stdcall*)(void*));
__declspec(dllimport) int __stdcall FlsFree(dword);
__declspec(dllimport) int __stdcall FlsSetValue(dword, void*);
__declspec(dllimport) dword __stdcall TlsAlloc();
__declspec(dllimport) int __stdcall TlsFree(dword);
__declspec(dllimport) int __stdcall TlsSetValue(dword, void*);
__declspec(dllimport) void* __stdcall TlsGetValue(dword);
__declspec(dllimport) dword __stdcall GetCurrentThreadId();
// ---- the process, its modules, and what it says
__declspec(dllimport) void* __stdcall GetCurrentProcess();
__declspec(dllimport) dword __stdcall GetCurrentProcessId();
__declspec(dllimport) int __stdcall GetProcessTimes(void*, ::_FILETIME*, ::_FILETIME*, ::_FILETIME*, ::_FILETIME*);
__declspec(dllimport) void* __stdcall EncodePointer(void*);
__declspec(dllimport) module __stdcall GetModuleHandleW(const wchar_t*);
__declspec(dllimport) int __stdcall GetModuleHandleExW(dword, const wchar_t*, module*);
__declspec(dllimport) procedure __stdcall GetProcAddress(module, const char*);
__declspec(dllimport) dword __stdcall GetLastError();
__declspec(dllimport) void __stdcall SetLastError(dword);
__declspec(dllimport) int __stdcall CloseHandle(void*);
__declspec(dllimport) void* __stdcall GetStdHandle(dword);
__declspec(dllimport) int __stdcall WriteFile(void*, const void*, dword, dword*, ::_OVERLAPPED*);
}

/// Changes a word from `expected`. Returns what it was.
inline void* change_if(void* volatile& word, void* expected, void* value) noexcept {
#if defined(_MSC_VER)
  return ::_InterlockedCompareExchangePointer(&word, value, expected);
#else
  return __sync_val_compare_and_swap(&word, expected, value);
#endif
}

/// A function that not every Windows has, of a library that every process has loaded. Null: it has none.
template <class Function>
Function find(const wchar_t* library, const char* name) noexcept {
  const module where = GetModuleHandleW(library);
  const procedure found = where != nullptr ? GetProcAddress(where, name) : nullptr;
  return reinterpret_cast<Function>(reinterpret_cast<void (*)()>(found));
}

/// The module that the address lies in is never unloaded from now on.
inline void keep_module(const volatile void* address) noexcept {
  constexpr dword pin = 1, by_address = 4;
  module ours;
  GetModuleHandleExW(pin | by_address, static_cast<const wchar_t*>(const_cast<const void*>(address)), &ours);
}

/// Leaves GetLastError() as it was: a free may wait, and looks for functions that aren't there.
class same_last_error {
 public:
  same_last_error() noexcept : before_(GetLastError()) {}
  ~same_last_error() { SetLastError(before_); }
  same_last_error(const same_last_error&) = delete;
  same_last_error& operator=(const same_last_error&) = delete;

 private:
  dword before_;
};

}  // namespace tarn::platform::windows

#endif  // _WIN32

#endif  // TARN_POLICIES_PLATFORM_WINDOWS_CALLS_H_

// ---- tarn/policies/platform/windows_modules.h ----

// What the modules of a process, its program and its DLLs, know of each other on Windows.
#ifndef TARN_POLICIES_PLATFORM_WINDOWS_MODULES_H_
#define TARN_POLICIES_PLATFORM_WINDOWS_MODULES_H_

#if defined(_WIN32)

#include <cstdint>

namespace tarn::platform::windows {

/// Two words of what differs between processes and is the same in all modules of one, at each call: the 32 bits that
/// EncodePointer() mixes in, the place of the heap, and when the process began.
inline void process_words(std::uint64_t* words) noexcept {
  std::uint64_t times[4] = {};
  const auto time = [&times](int i) noexcept { return reinterpret_cast<::_FILETIME*>(&times[i]); };
  GetProcessTimes(GetCurrentProcess(), time(0), time(1), time(2), time(3));
  const auto heap = reinterpret_cast<std::uintptr_t>(GetProcessHeap());
  words[0] = reinterpret_cast<std::uintptr_t>(EncodePointer(nullptr)) ^ std::uint64_t{heap} << 20;
  words[1] = times[0] ^ std::uint64_t{GetCurrentProcessId()} << 40 ^ heap;
}

/// The name of a thing of this process: no other process knows what is in it, to make that thing first.
class process_name {
 public:
  explicit process_name(std::uint32_t kind) noexcept {
    std::uint64_t words[2];
    process_words(words);
    add(GetCurrentProcessId());
    add(words[0]);
    add(words[1]);
    add(kind);
  }
  const wchar_t* text() const noexcept { return text_; }

 private:
  void add(std::uint64_t n) noexcept {
    *end_++ = L'-';
    for (int shift = 60; shift >= 0; shift -= 4) *end_++ = L"0123456789abcdef"[n >> shift & 15];
  }

  wchar_t text_[11 + 4 * 17 + 1] = L"Local\\tarn";
  wchar_t* end_ = text_ + 10;
};

/// The object of the first module that asks for its kind; that module stays loaded. `mine`, if the system refuses the memory
/// that says so.
inline void* first_in_process(std::uint32_t kind, void* mine) noexcept {
  constexpr dword read_write = 4, to_write = 2 | 4, page = 4096;
  const process_name name(kind);
  void* const no_file = reinterpret_cast<void*>(~std::uintptr_t{0});
  void* const mapping = CreateFileMappingW(no_file, nullptr, read_write, 0, page, name.text());
  void* const view = mapping != nullptr ? MapViewOfFile(mapping, to_write, 0, 0, page) : nullptr;
  if (view == nullptr) return mine;
  void* const before = change_if(*static_cast<void* volatile*>(view), nullptr, mine);
  UnmapViewOfFile(view);
  if (before == nullptr) keep_module(mine);  // and the mapping is never closed
  else CloseHandle(mapping);
  return before != nullptr ? before : mine;
}

}  // namespace tarn::platform::windows

#endif  // _WIN32

#endif  // TARN_POLICIES_PLATFORM_WINDOWS_MODULES_H_

// ---- tarn/policies/platform/windows_threads.h ----

// Threads on Windows: how they wait, and how their end is told.
#ifndef TARN_POLICIES_PLATFORM_WINDOWS_THREADS_H_
#define TARN_POLICIES_PLATFORM_WINDOWS_THREADS_H_

#if defined(_WIN32)

#include <cstdint>

namespace tarn::platform::windows {

/// Nanoseconds to `unit`, rounded up, and at most the largest wait that isn't endless.
constexpr std::uint64_t units_of(std::uint64_t nanoseconds, std::uint64_t unit) noexcept {
  const std::uint64_t n = nanoseconds / unit + (nanoseconds % unit != 0 ? 1 : 0);
  return n < 0xFFFF'FFFE ? n : 0xFFFF'FFFE;
}
inline constexpr std::uint64_t millisecond = 1'000'000;

/// Sleep() rounds up to a tick of 15.6 ms; a timer that asks for high resolution (Windows 10 1803) keeps half a millisecond.
inline void sleep(std::uint64_t nanoseconds) noexcept {
  const same_last_error same;
  constexpr dword manual_reset = 1, high_resolution = 2, may_set_and_wait = 0x100002;
  void* const timer = CreateWaitableTimerExW(nullptr, nullptr, manual_reset | high_resolution, may_set_and_wait);
  const long long due = -static_cast<long long>(units_of(nanoseconds, 100));  // from now, in steps of 100 ns
  const bool waits =
      timer != nullptr && SetWaitableTimer(timer, reinterpret_cast<const ::_LARGE_INTEGER*>(&due), 0, nullptr, nullptr, 0) != 0;
  if (!waits || WaitForSingleObject(timer, ~dword{0}) != 0) Sleep(static_cast<dword>(units_of(nanoseconds, millisecond)));
  if (timer != nullptr) CloseHandle(timer);
}

/// WaitOnAddress and what wakes from it: since Windows 8, and of a library of their own, which nobody needs to link.
struct address_waiting {
  using wait_function = int(__stdcall*)(volatile void*, void*, size, dword);
  using wake_function = void(__stdcall*)(void*);

  static void wait(const unsigned* word, unsigned value, std::uint64_t limit) noexcept {
    const same_last_error same;
    constexpr std::uint64_t while_ = 1'000'000;
    const auto act = reinterpret_cast<wait_function>(found(wait_, "WaitOnAddress"));
    if (act != nullptr)
      act(const_cast<unsigned*>(word), &value, sizeof value,
          limit != 0 ? static_cast<dword>(units_of(limit, millisecond)) : ~dword{0});
    else if (*static_cast<const volatile unsigned*>(word) == value)  // looks again after a while
      windows::sleep(limit != 0 && limit < while_ ? limit : while_);
  }
  static void wake(const unsigned* word, int threads) noexcept {
    const same_last_error same;
    const auto act = reinterpret_cast<wake_function>(threads == 1 ? found(wake_one_, "WakeByAddressSingle")
                                                                  : found(wake_all_, "WakeByAddressAll"));
    if (act != nullptr) act(const_cast<unsigned*>(word));
  }

 private:
  /// Every thread that looks finds the same, and it points to code that is there: the order doesn't matter.
  static void* found(void* volatile& known, const char* name) noexcept {
    void* at = known;
    if (at == nullptr) {
      at = reinterpret_cast<void*>(find<void (*)()>(L"kernelbase.dll", name));
      known = at != nullptr ? at : missing();
    }
    return at != missing() ? at : nullptr;
  }
  static void* missing() noexcept { return &known_missing_; }

  static inline char known_missing_ = 0;
  static inline void* volatile wait_ = nullptr;
  static inline void* volatile wake_one_ = nullptr;
  static inline void* volatile wake_all_ = nullptr;
};

/// Two values for each key. One of fiber-local storage, which has a function for a thread's end; FlsFree() calls it, too, for
/// other threads' values: so each key has a place here, from which what it calls is taken first. (It is also called otherwise
/// than `act`: __stdcall.) And one of thread-local storage, which is there until nothing of the thread runs any more, and says
/// to what runs later that the end was told: destructors of variables may, and g++'s variables are new to them.
class thread_end_keys {
 public:
  using handler = void (*)(void*);
  static constexpr unsigned count = 8;  // one for each module, and some for tests
  static constexpr unsigned none = ~0u;

  static unsigned make(handler act) noexcept {
    for (unsigned place = 0; place != count; ++place) {
      key& k = keys_[place];
      if (change_if(k.act, nullptr, reinterpret_cast<void*>(act)) != nullptr) continue;
      k.value = TlsAlloc();
      k.end = k.value != failed ? FlsAlloc(at_end[place]) : failed;
      if (k.end != failed) {
#if defined(_MSC_VER)
        keep_module(keys_);  // nobody tells of its end: see TARN_AT_UNLOAD
#endif
        return place;
      }
      if (k.value != failed) TlsFree(k.value);
      k.act = nullptr;
      break;
    }
    return none;
  }
  /// Refused: there is no memory, or the thread's end was told.
  static bool set(unsigned place, void* value) noexcept {
    const key& k = keys_[place];
    return value_of(k) != ended() && TlsSetValue(k.value, value) != 0 && FlsSetValue(k.end, value) != 0;
  }
  static void* get(unsigned place) noexcept {
    void* const value = value_of(keys_[place]);
    return value != ended() ? value : nullptr;
  }
  static void drop(unsigned place) noexcept {
    key& k = keys_[place];
    k.act = reinterpret_cast<void*>(&nothing);
    FlsFree(k.end);
    TlsFree(k.value);
    k.act = nullptr;
  }

 private:
  struct key {
    void* volatile act;  // null: the place is free
    dword end;
    dword value;
  };
  static constexpr dword failed = ~dword{0};

  static void* value_of(const key& k) noexcept {
    const same_last_error same;  // success changes it, too
    return TlsGetValue(k.value);
  }
  static void* ended() noexcept { return keys_; }
  static void nothing(void*) noexcept {}
  template <unsigned Place>
  static void __stdcall act(void* value) {
    void* const act = keys_[Place].act;
    if (act == nullptr || act == reinterpret_cast<void*>(&nothing)) return;
    TlsSetValue(keys_[Place].value, ended());
    reinterpret_cast<handler>(act)(value);
  }

  static constexpr void(__stdcall* at_end[count])(void*) = {act<0>, act<1>, act<2>, act<3>, act<4>, act<5>, act<6>, act<7>};
  static inline constinit key keys_[count] = {};
};

}  // namespace tarn::platform::windows

#endif  // _WIN32

#endif  // TARN_POLICIES_PLATFORM_WINDOWS_THREADS_H_

// ---- tarn/policies/platform/windows.h, continued ----

#if defined(_WIN32)

#include <cerrno>
#include <cstddef>
#include <cstdint>

#define TARN_THREAD_LOCAL thread_local

namespace tarn::platform {

struct windows_system : no_system {
  static constexpr bool has_threads = true;
  static constexpr bool has_thread_locals = true;
  static constexpr bool has_clock = true;
  static constexpr bool has_pages = true;

  static void yield() noexcept { windows::SwitchToThread(); }
  static void sleep(std::uint64_t nanoseconds) noexcept { windows::sleep(nanoseconds); }
  static bool is_single_threaded() noexcept { return false; }
  static std::uintptr_t this_thread() noexcept { return windows::GetCurrentThreadId(); }
  static std::uint64_t nanoseconds() noexcept {
    constexpr std::uint64_t second = 1'000'000'000;
    std::uint64_t ticks = 0, in_second = 1;
    windows::QueryPerformanceCounter(reinterpret_cast<::_LARGE_INTEGER*>(&ticks));
    windows::QueryPerformanceFrequency(reinterpret_cast<::_LARGE_INTEGER*>(&in_second));
    return ticks / in_second * second + ticks % in_second * second / in_second;
  }
  static void wait_while(const unsigned* word, unsigned value, std::uint64_t limit) noexcept {
    windows::address_waiting::wait(word, value, limit);
  }
  static void wake(const unsigned* word, int threads) noexcept { windows::address_waiting::wake(word, threads); }

  /// A value may need memory, of the process' heap, and is refused without it.
  static constexpr unsigned thread_keys = windows::thread_end_keys::count;
  static unsigned make_thread_key(void (*act)(void*)) noexcept { return windows::thread_end_keys::make(act); }
  static bool set_thread_value(unsigned key, void* value) noexcept { return windows::thread_end_keys::set(key, value); }
  static void* thread_value(unsigned key) noexcept { return windows::thread_end_keys::get(key); }
  /// g++'s own variables of a thread (emulated TLS) are freed before this comes. Before their destructors run, too, which then
  /// read freed memory: seen with g++ 12 and threads of winpthreads.
  static constexpr bool keys_run_last = true;
  static void drop_thread_key(unsigned key) noexcept { windows::thread_end_keys::drop(key); }

  /// On every processor that Windows runs on. Addresses are given out in steps of 64 KiB.
  static std::size_t page_bytes() noexcept { return 4096; }
  /// Nothing can be given back of addresses but all that were given at once: so those that alignment skips stay reserved, until
  /// unmap_pages(). They cost no memory.
  static void* map_pages(std::size_t bytes, std::size_t alignment, std::size_t offset, bool open) noexcept {
    constexpr std::size_t step = 64 * 1024;
    const std::size_t unit = alignment < step ? step : alignment;
    const std::size_t slack = unit == step && offset % alignment == 0 ? 0 : unit;
    if (bytes + slack < bytes) return nullptr;
    const windows::dword how = slack == 0 && open ? reserve | commit : reserve;
    void* const mapped = windows::VirtualAlloc(nullptr, bytes + slack, how, open ? read_write : no_access);
    if (mapped == nullptr || slack == 0) return mapped;
    const std::size_t above = (reinterpret_cast<std::uintptr_t>(mapped) + offset) % alignment;
    char* const start = static_cast<char*>(mapped) + (above != 0 ? alignment - above : 0);
    if (!open || open_pages(start, bytes)) return start;
    windows::VirtualFree(mapped, 0, release);
    return nullptr;
  }
  static void unmap_pages(void* start, std::size_t) noexcept {
    void* about[8] = {};  // MEMORY_BASIC_INFORMATION: the second is where the addresses began that were given at once
    if (windows::VirtualQuery(start, reinterpret_cast<::_MEMORY_BASIC_INFORMATION*>(about), sizeof about) != 0)
      windows::VirtualFree(about[1], 0, release);
  }
  static bool open_pages(void* start, std::size_t bytes) noexcept {
    return windows::VirtualAlloc(start, bytes, commit, read_write) != nullptr;
  }
  /// Their memory goes, and what the process was promised of it.
  static void close_pages(void* start, std::size_t bytes) noexcept { windows::VirtualFree(start, bytes, decommit); }
  static void empty_pages(void* start, std::size_t bytes) noexcept { close_pages(start, bytes); }
  /// A process may lock some 200 KiB, unless it asks for more (SetProcessWorkingSetSize). The error is GetLastError()'s.
  static int lock_pages(void* start, std::size_t bytes) noexcept {
    return windows::VirtualLock(start, bytes) != 0 ? 0 : static_cast<int>(windows::GetLastError());
  }

  static constexpr bool has_page_advice = true;
  static constexpr int discard = 1;
  static constexpr int free_lazily = 2;
  static constexpr int populate_write = -1;  // not known: page_memory writes to each page
  static int advise(void* start, std::size_t bytes, int advice) noexcept {
    const windows::same_last_error same;
    bool gone = false;
    if (advice == free_lazily || advice == discard) gone = windows::VirtualAlloc(start, bytes, reset, no_access) != nullptr;
    // Of pages that aren't locked, this takes what lies in memory out of the process: now, not when memory is short.
    if (gone && advice == discard) windows::VirtualUnlock(start, bytes);
    if (!gone) errno = EINVAL;
    return gone ? 0 : -1;
  }
  static long advise_all(const void*, std::size_t, int) noexcept {
    errno = ENOSYS;
    return -1;
  }

  static bool read_anywhere(const void* from, void* to, std::size_t bytes) noexcept {
    const windows::same_last_error same;
    windows::size got = 0;
    return windows::ReadProcessMemory(windows::GetCurrentProcess(), from, to, bytes, &got) != 0 && got == bytes;
  }

  static bool random_words(std::uint64_t* words) noexcept {
    windows::process_words(words);
    return true;
  }
  static void write_error(const char* text, std::size_t bytes) noexcept {
    const windows::same_last_error same;
    constexpr windows::dword error_output = static_cast<windows::dword>(-12);
    void* const where = windows::GetStdHandle(error_output);
    for (std::size_t done = 0; done != bytes;) {
      const std::size_t left = bytes - done;
      windows::dword written = 0;
      const auto part = static_cast<windows::dword>(left < 65536 ? left : 65536);
      if (windows::WriteFile(where, text + done, part, &written, nullptr) == 0 || written == 0) break;
      done += written;
    }
  }

 private:
  static constexpr windows::dword commit = 0x1000, reserve = 0x2000, decommit = 0x4000, release = 0x8000, reset = 0x80000;
  static constexpr windows::dword no_access = 1, read_write = 4;
};

}  // namespace tarn::platform

#endif  // _WIN32

#endif  // TARN_POLICIES_PLATFORM_WINDOWS_H_

// ---- tarn/policies/platform/system.h, continued ----

#define TARN_SYSTEM_ windows_system
#elif defined(__unix__) && !defined(__wasi__) && __has_include(<sys/mman.h>)
#define TARN_SYSTEM_ posix_system
#elif __STDC_HOSTED__

// ---- tarn/policies/platform/hosted.h ----

// What every hosted implementation of C++ has, whatever the system: stderr. On bare metal the C library passes it on, to a
// debugger or a serial line.
#ifndef TARN_POLICIES_PLATFORM_HOSTED_H_
#define TARN_POLICIES_PLATFORM_HOSTED_H_

#include <cstddef>
#include <cstdio>

namespace tarn::platform {

struct hosted_system : no_system {
  static void write_error(const char* text, std::size_t bytes) noexcept { std::fwrite(text, 1, bytes, stderr); }
};

}  // namespace tarn::platform

#endif  // TARN_POLICIES_PLATFORM_HOSTED_H_

// ---- tarn/policies/platform/system.h, continued ----

#define TARN_SYSTEM_ hosted_system
#else
#define TARN_SYSTEM_ no_system
#endif

#if !defined(TARN_THREAD_LOCAL)
#define TARN_THREAD_LOCAL
#endif

namespace tarn::platform {

#if defined(TARN_SYSTEM_)
using system = TARN_SYSTEM_;
#undef TARN_SYSTEM_
#endif

static_assert(!system::has_threads || has_atomics || system::has_atomic_section,
              "tarn: [Y1] the platform header says that there are threads, but this processor has no compare-and-swap; bring "
              "an atomic_section that masks interrupts (docs/platforms.md)");

}  // namespace tarn::platform

#endif  // TARN_POLICIES_PLATFORM_SYSTEM_H_

// ---- tarn/allocator/observe.h ----

// Answers what other programs ask about the pools of this one, at a socket with a path:
//
//   tarn::observer watched = tarn::observe("/run/user/1000/service.sock");
//   ... poll(watched.descriptor()) ...    // readable: somebody asks
//   watched.serve();                      // answers, and waits for nobody
//
// A client sends one line and reads the answer until the connection ends: `echo json | nc -U /run/user/1000/service.sock`. Only
// the user of the process can connect. docs/how-to/watch.md lists the requests. observing_thread.h serves in a thread.
#ifndef TARN_ALLOCATOR_OBSERVE_H_
#define TARN_ALLOCATOR_OBSERVE_H_

#if defined(TARN_HAS_LOCAL_SOCKETS)
#define TARN_NEEDS_POLICIES_PLATFORM_LOCAL_SOCKETS_
#else
#endif
#if defined(TARN_HAS_LOCAL_SOCKETS) && defined(TARN_STANDARD_THREADS)
#define TARN_NEEDS_POLICIES_PLATFORM_LOCAL_SOCKETS_
#elif defined(TARN_HAS_LOCAL_SOCKETS)
#endif
#if defined(TARN_NEEDS_POLICIES_PLATFORM_LOCAL_SOCKETS_)

// ---- tarn/policies/platform/local_sockets.h ----

// Sockets that have a path (AF_UNIX): only their owner can connect. For systems that define TARN_HAS_LOCAL_SOCKETS.
#ifndef TARN_POLICIES_PLATFORM_LOCAL_SOCKETS_H_
#define TARN_POLICIES_PLATFORM_LOCAL_SOCKETS_H_

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tarn::platform {

/// Where a process listens. Functions that fail return the system's error, those that succeed 0.
class local_socket {
 public:
  static constexpr std::size_t longest_path = sizeof(::sockaddr_un::sun_path) - 1;

  int descriptor() const noexcept { return descriptor_; }

  /// Listens at a path, as the only one; others than the owner can't connect, not even at first. What a process left there
  /// that ended is replaced: a socket at which nobody listens, and nothing else. Errors, besides the system's: ENAMETOOLONG,
  /// EADDRINUSE: somebody listens; EEXIST: it is no socket.
  int listen(const char* path, std::size_t bytes) noexcept {
    if (bytes == 0 || std::memchr(path, 0, bytes) != nullptr) return EINVAL;
    if (bytes > longest_path) return ENAMETOOLONG;
    address_.sun_family = AF_UNIX;
    std::memcpy(address_.sun_path, path, bytes);
    descriptor_ = make();
    if (descriptor_ < 0) return errno;
    const folder_lock lock(address_.sun_path);
    const int error = bind_and_listen();
    if (error != 0) ::close(descriptor_);
    return error;
  }
  /// Ends it and takes the path away, if it is still this socket's. \param is_owner  false in the child of a fork: the
  /// parent goes on
  void close(bool is_owner) noexcept {
    if (is_owner) {
      {
        const folder_lock lock(address_.sun_path);
        if (is_at_path()) ::unlink(address_.sun_path);
      }
      ::shutdown(descriptor_, SHUT_RDWR);  // for copies of the descriptor in children
      for (int next = accept_next(); next >= 0; next = accept_next()) end(next);
    }
    ::close(descriptor_);
  }

  enum class outcome : unsigned char { done, nothing, failed };

  /// The next client. -1: there is none. Where the process has no more descriptors, the client is sent away.
  /// \param reserve  a descriptor that is kept for that
  int accept(int& reserve) const noexcept {
    int client = accept_next();
    if (client < 0 && (errno == EMFILE || errno == ENFILE) && reserve >= 0) {
      ::close(reserve);
      client = accept_next();
      if (client >= 0) ::close(client);
      reserve = spare();
      return -1;
    }
    return client;
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
  /// Ends a connection, whatever copies of it there are. What the client sent and nobody read is dropped first: with it, the
  /// client would see an error in place of the end.
  static void end(int client) noexcept {
    char rest[1024];
    std::size_t bytes = sizeof rest;
    for (int i = 0; i != 64 && read(client, rest, bytes) == outcome::done && bytes != 0; ++i) bytes = sizeof rest;
    ::shutdown(client, SHUT_RDWR);
    ::close(client);
  }
  static void close(int descriptor) noexcept { ::close(descriptor); }

  /// Two descriptors; when one is shut down, the other becomes readable.
  static int make_pair(int* both) noexcept {
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, both) != 0) return errno;
    for (int i = 0; i != 2; ++i) ::fcntl(both[i], F_SETFD, FD_CLOEXEC);
    return 0;
  }
  static void shut(int descriptor) noexcept { ::shutdown(descriptor, SHUT_RDWR); }
  /// Waits until one of two is readable, or for so many milliseconds; -1: any time.
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

  /// Two processes don't take the same path at once: the folder is locked meanwhile. A folder that somebody else keeps locked,
  /// or that can't be, is passed over after a second.
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
      if (descriptor_ >= 0) ::close(descriptor_);
    }
    folder_lock(const folder_lock&) = delete;
    folder_lock& operator=(const folder_lock&) = delete;

   private:
    int descriptor_;
  };

  template <class Call>
  static auto retried(Call call) noexcept -> decltype(call()) {
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
  int accept_next() const noexcept {
    return prepared(retried([&] { return ::accept(descriptor_, nullptr, nullptr); }));
  }
#endif

  const ::sockaddr* address() const noexcept { return reinterpret_cast<const ::sockaddr*>(&address_); }

  int bind_and_listen() noexcept {
    // Linux makes the file with the socket's mode. Elsewhere it has that of the umask until chmod, but nobody can connect
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
    const int client = make();
    if (client < 0) return errno;
    const bool is_stale = ::connect(client, address(), sizeof address_) != 0 && errno == ECONNREFUSED;
    ::close(client);
    if (!is_stale) return EADDRINUSE;
    return ::unlink(address_.sun_path) == 0 || errno == ENOENT ? 0 : errno;
  }
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

#endif  // TARN_POLICIES_PLATFORM_LOCAL_SOCKETS_H_
#undef TARN_NEEDS_POLICIES_PLATFORM_LOCAL_SOCKETS_
#endif
#if defined(TARN_HAS_LOCAL_SOCKETS)
#define TARN_NEEDS_POLICIES_PLATFORM_WATCHED_SET_
#else
#endif
#if defined(TARN_HAS_LOCAL_SOCKETS) && defined(TARN_STANDARD_THREADS)
#define TARN_NEEDS_POLICIES_PLATFORM_WATCHED_SET_
#elif defined(TARN_HAS_LOCAL_SOCKETS)
#endif
#if defined(TARN_NEEDS_POLICIES_PLATFORM_WATCHED_SET_)

// ---- tarn/policies/platform/watched_set.h ----

// Several descriptors as one, for a program's own loop.
#ifndef TARN_POLICIES_PLATFORM_WATCHED_SET_H_
#define TARN_POLICIES_PLATFORM_WATCHED_SET_H_

#include <unistd.h>

#include <cstdint>

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
#undef TARN_NEEDS_POLICIES_PLATFORM_WATCHED_SET_
#endif
#if defined(TARN_HAS_LOCAL_SOCKETS)
#define TARN_NEEDS_POLICIES_PLATFORM_ATOMIC_WORD_
#else
#endif
#if defined(TARN_HAS_LOCAL_SOCKETS) && defined(TARN_STANDARD_THREADS)
#define TARN_NEEDS_POLICIES_PLATFORM_ATOMIC_WORD_
#elif defined(TARN_HAS_LOCAL_SOCKETS)
#endif
#if defined(TARN_NEEDS_POLICIES_PLATFORM_ATOMIC_WORD_)

// ---- tarn/policies/platform/atomic_word.h ----

// Atomic words without <atomic>, which is 24,000 lines that every file with a pool would compile: on the builtins of g++ and
// clang.
#ifndef TARN_POLICIES_PLATFORM_ATOMIC_WORD_H_
#define TARN_POLICIES_PLATFORM_ATOMIC_WORD_H_

#if !defined(__GNUC__)
#include <atomic>
#endif

namespace tarn::detail {

#if defined(__GNUC__)

enum class memory_order : int {
  relaxed = __ATOMIC_RELAXED,
  acquire = __ATOMIC_ACQUIRE,
  release = __ATOMIC_RELEASE,
  acq_rel = __ATOMIC_ACQ_REL,
  seq_cst = __ATOMIC_SEQ_CST,
};
inline constexpr memory_order memory_order_relaxed = memory_order::relaxed;
inline constexpr memory_order memory_order_acquire = memory_order::acquire;
inline constexpr memory_order memory_order_release = memory_order::release;
inline constexpr memory_order memory_order_acq_rel = memory_order::acq_rel;
inline constexpr memory_order memory_order_seq_cst = memory_order::seq_cst;

/// The part of std::atomic that tarn uses, with the same members. The order is always explicit. Where the processor
/// can't change a word of that size at once, it is changed as an ordinary one, in an atomic_section of the system.
template <class T>
class atomic_word {
 public:
  constexpr atomic_word() noexcept : value_() {}
  constexpr atomic_word(T value) noexcept : value_(value) {}
  atomic_word(const atomic_word&) = delete;
  atomic_word& operator=(const atomic_word&) = delete;

  TARN_STEP T load(memory_order order) const noexcept {
    if constexpr (is_ordinary && sizeof(T) > sizeof(void*)) {
      [[maybe_unused]] const typename system::atomic_section alone{};
      return value_;
    }
    T value;
    __atomic_load(&value_, &value, static_cast<int>(order));
    return value;
  }
  TARN_STEP void store(T value, memory_order order) noexcept {
    if constexpr (is_ordinary && sizeof(T) > sizeof(void*)) changed([value](T) noexcept { return value; });
    else __atomic_store(&value_, &value, static_cast<int>(order));
  }
  TARN_STEP T exchange(T value, memory_order order) noexcept {
    if constexpr (is_ordinary) return changed([value](T) noexcept { return value; });
    T before;
    __atomic_exchange(&value_, &value, &before, static_cast<int>(order));
    return before;
  }
  TARN_STEP bool compare_exchange_strong(T& expected, T value, memory_order order, memory_order failed) noexcept {
    if constexpr (is_ordinary) return change_if(expected, value);
    return __atomic_compare_exchange(&value_, &expected, &value, false, static_cast<int>(order), static_cast<int>(failed));
  }
  TARN_STEP bool compare_exchange_weak(T& expected, T value, memory_order order, memory_order failed) noexcept {
    if constexpr (is_ordinary) return change_if(expected, value);
    return __atomic_compare_exchange(&value_, &expected, &value, true, static_cast<int>(order), static_cast<int>(failed));
  }
  /// With one order, for success; a failure synchronises as far as a load can.
  TARN_STEP bool compare_exchange_strong(T& expected, T value, memory_order order) noexcept {
    return compare_exchange_strong(expected, value, order, of_failure(order));
  }
  TARN_STEP bool compare_exchange_weak(T& expected, T value, memory_order order) noexcept {
    return compare_exchange_weak(expected, value, order, of_failure(order));
  }
  TARN_STEP T fetch_add(T more, memory_order order) noexcept {
    if constexpr (is_ordinary) return changed([more](T before) noexcept { return static_cast<T>(before + more); });
    return __atomic_fetch_add(&value_, more, static_cast<int>(order));
  }
  TARN_STEP T fetch_sub(T less, memory_order order) noexcept {
    if constexpr (is_ordinary) return changed([less](T before) noexcept { return static_cast<T>(before - less); });
    return __atomic_fetch_sub(&value_, less, static_cast<int>(order));
  }
  TARN_STEP T fetch_or(T bits, memory_order order) noexcept {
    if constexpr (is_ordinary) return changed([bits](T before) noexcept { return static_cast<T>(before | bits); });
    return __atomic_fetch_or(&value_, bits, static_cast<int>(order));
  }
  TARN_STEP T fetch_and(T bits, memory_order order) noexcept {
    if constexpr (is_ordinary) return changed([bits](T before) noexcept { return static_cast<T>(before & bits); });
    return __atomic_fetch_and(&value_, bits, static_cast<int>(order));
  }

  /// For system calls that wait for a change.
  T* address() noexcept { return &value_; }

 private:
  using system = platform::system;
  static constexpr bool is_ordinary = (!system::has_threads || system::has_atomic_section) &&
                                      !(sizeof(T) > sizeof(void*) ? platform::has_wide_atomics : platform::has_atomics);
  /// `change` computes the new value from the old one, which is returned.
  template <class Change>
  TARN_STEP T changed(Change change) noexcept {
    [[maybe_unused]] const typename system::atomic_section alone{};
    const T before = value_;
    value_ = change(before);
    return before;
  }
  TARN_STEP bool change_if(T& expected, T value) noexcept {
    [[maybe_unused]] const typename system::atomic_section alone{};
    const bool is_as_expected = value_ == expected;
    (is_as_expected ? value_ : expected) = is_as_expected ? value : value_;
    return is_as_expected;
  }
  TARN_STEP static constexpr memory_order of_failure(memory_order order) noexcept {
    return order == memory_order_release ? memory_order_relaxed : order == memory_order_acq_rel ? memory_order_acquire : order;
  }

  alignas(sizeof(T)) T value_;
};

/// A flag, where the processor changes words and the compiler nothing smaller.
template <class T>
  requires(sizeof(T) == 1 && !platform::has_byte_atomics)
class atomic_word<T> {
 public:
  constexpr atomic_word() noexcept : word_(0u) {}
  constexpr atomic_word(T value) noexcept : word_(static_cast<unsigned>(value)) {}

  T load(memory_order order) const noexcept { return static_cast<T>(word_.load(order)); }
  void store(T value, memory_order order) noexcept { word_.store(static_cast<unsigned>(value), order); }
  T exchange(T value, memory_order order) noexcept {
    return static_cast<T>(word_.exchange(static_cast<unsigned>(value), order));
  }

 private:
  atomic_word<unsigned> word_;
};

/// Keeps the compiler from moving this thread's accesses across it, as seen by a signal handler of the same thread.
TARN_STEP void signal_fence() noexcept { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
/// Earlier writes are seen before later ones.
TARN_STEP void release_fence() noexcept {
#if defined(TARN_TSAN)
  signal_fence();  // ThreadSanitizer doesn't know fences
#else
  __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}
/// Reads and writes a variable that only one thread changes, and others read meanwhile.
template <class T>
TARN_STEP T load_relaxed(const T& word) noexcept {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}
template <class T>
TARN_STEP void store_relaxed(T& word, T value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}
/// Writes a variable that only one thread changes; who sees the value sees what was written before.
template <class T>
TARN_STEP void store_release(T& word, T value) noexcept {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

#else

using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

template <class T>
class atomic_word : public std::atomic<T> {
 public:
  using std::atomic<T>::atomic;
  T* address() noexcept { return reinterpret_cast<T*>(this); }
};
inline void signal_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }
inline void release_fence() noexcept { std::atomic_thread_fence(std::memory_order_release); }
template <class T>
T load_relaxed(const T& word) noexcept {
  return word;
}
template <class T>
void store_relaxed(T& word, T value) noexcept {
  word = value;
}
template <class T>
void store_release(T& word, T value) noexcept {
  release_fence();
  word = value;
}

#endif

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_ATOMIC_WORD_H_
#undef TARN_NEEDS_POLICIES_PLATFORM_ATOMIC_WORD_
#endif
#if defined(TARN_HAS_LOCAL_SOCKETS)
#else
#define TARN_NEEDS_ALLOCATOR_DETAIL_NO_OBSERVER_
#endif
#if defined(TARN_HAS_LOCAL_SOCKETS) && defined(TARN_STANDARD_THREADS)
#elif defined(TARN_HAS_LOCAL_SOCKETS)
#define TARN_NEEDS_ALLOCATOR_DETAIL_NO_OBSERVER_
#endif
#if defined(TARN_NEEDS_ALLOCATOR_DETAIL_NO_OBSERVER_)

// ---- tarn/allocator/detail/no_observer.h ----

// In place of observe.h and observing_thread.h, where the target has no sockets with a path, or no threads.
#ifndef TARN_ALLOCATOR_DETAIL_NO_OBSERVER_H_
#define TARN_ALLOCATOR_DETAIL_NO_OBSERVER_H_

#include <cstddef>

#if !defined(TARN_HAS_LOCAL_SOCKETS)

namespace tarn {

class observer {
 public:
  int descriptor() const noexcept;
  std::size_t serve() noexcept;
};

template <class Path>
observer observe(const Path&) {
  static_assert(sizeof(Path) == 0,
                "tarn: [Y11] observe was called, but this target has no sockets with a path to answer at; write what "
                "to_json(snapshot()) returns where it can be read");
  return {};
}

}  // namespace tarn

#endif

namespace tarn {

class observing_thread {
 public:
  template <class... Path>
  explicit observing_thread(const Path&...) {
    static_assert(sizeof...(Path) > 1,
                  "tarn: [Y12] observing_thread was named, but this target has no std::thread to run it, or no sockets with a "
                  "path to answer at; call serve() of an observer in between");
  }
};

}  // namespace tarn

#endif  // TARN_ALLOCATOR_DETAIL_NO_OBSERVER_H_
#undef TARN_NEEDS_ALLOCATOR_DETAIL_NO_OBSERVER_
#endif

// ---- tarn/allocator/observe.h, continued ----

#if defined(TARN_HAS_LOCAL_SOCKETS)

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

// ---- tarn/allocator/detail/observed_clients.h ----

// Who asks at a socket: each client sends one line and reads the answer, which ends where the connection does. No call waits
// for a client, and no client is kept for longer than `patience` when it does nothing.
#ifndef TARN_ALLOCATOR_DETAIL_OBSERVED_CLIENTS_H_
#define TARN_ALLOCATOR_DETAIL_OBSERVED_CLIENTS_H_

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace tarn::detail {

/// The text that answers a request: new char[], or a constant.
struct observed_answer {
  const char* text = nullptr;
  std::size_t bytes = 0;
  bool is_owned = false;
};

class observed_clients {
 public:
  using socket = platform::local_socket;
  using respond = observed_answer (*)(const char* request, std::size_t bytes) noexcept;

  static constexpr std::size_t places = 32;  // clients at once; others wait in the system
  static constexpr std::size_t longest = 255;  // bytes of a request
  static constexpr std::uint64_t patience = 10'000'000'000;  // nanoseconds that a client may do nothing
  static constexpr std::uint64_t crowded = 500'000'000;  // while there is no other place

  /// Returns the error, or 0.
  int open(const socket& at) noexcept {
    listening_ = &at;
    set_ = platform::watched_set::open(at.descriptor());
    if (set_ < 0 || !platform::watched_set::add(set_, at.descriptor())) return errno;
    reserve_ = at.spare();
    return 0;
  }
  /// \param is_owner  false in the child of a fork. Another thread of the parent may have been in serve(): what was being
  /// written there is left alone
  void close(bool is_owner) noexcept {
    for (client& c : clients_) {
      if (c.descriptor < 0) continue;
      if (is_owner) end(c);
      else socket::close(c.descriptor);
    }
    if (reserve_ >= 0) socket::close(reserve_);
    if (set_ >= 0) platform::watched_set::close(set_);
  }
  int descriptor() const noexcept { return set_; }
  std::size_t size() const noexcept { return connected_; }

  /// Goes on with every client as far as it can without waiting. Returns how many requests it answered.
  std::size_t serve(std::uint64_t now, respond answer) noexcept {
    std::size_t answered = 0;
    for (client& c : clients_)
      if (c.descriptor >= 0) answered += advance(c, now, answer) ? 1 : 0;
    for (client& c : clients_) {
      if (c.descriptor >= 0) continue;
      const int next = listening_->accept(reserve_);
      if (next < 0) break;
      admit(c, next, now);
      answered += c.descriptor >= 0 && advance(c, now, answer) ? 1 : 0;
    }
    const std::uint64_t limit = connected_ == places ? crowded : patience;
    for (client& c : clients_)
      if (c.descriptor >= 0 && now - c.last > limit) end(c);
    return answered;
  }

 private:
  struct client {
    int descriptor = -1;
    std::uint64_t last = 0;  // when it last did something
    std::size_t got = 0;  // bytes of the request
    std::size_t sent = 0;  // of the answer
    observed_answer answer;
    char request[longest + 1];
  };

  void admit(client& c, int descriptor, std::uint64_t now) noexcept {
    if (!platform::watched_set::add(set_, descriptor)) return socket::close(descriptor);
    c.descriptor = descriptor;
    c.last = now;
    c.got = c.sent = 0;
    ++connected_;
  }
  void end(client& c) noexcept {
    platform::watched_set::drop(set_, c.descriptor);
    socket::end(c.descriptor);
    c.descriptor = -1;
    --connected_;
    const observed_answer answer = c.answer;
    c.answer = {};
    if (answer.is_owned) delete[] answer.text;
  }

  /// Returns whether it made an answer.
  bool advance(client& c, std::uint64_t now, respond answer) noexcept {
    const bool asks = c.answer.text == nullptr;
    if (asks && !read(c, now, answer)) return false;
    write(c, now);
    return asks;
  }
  /// Returns whether the request is there, and answered.
  bool read(client& c, std::uint64_t now, respond answer) noexcept {
    for (;;) {
      std::size_t bytes = sizeof c.request - c.got;
      switch (socket::read(c.descriptor, c.request + c.got, bytes)) {
        case socket::outcome::nothing:
          return false;
        case socket::outcome::failed:
          return end(c), false;
        case socket::outcome::done:
          break;
      }
      c.last = now;
      const bool is_end = bytes == 0;
      const std::size_t before = c.got;
      c.got += bytes;
      for (std::size_t i = before; i != c.got; ++i)
        if (c.request[i] == '\n') return set_answer(c, answer(c.request, i)), true;
      if (c.got == sizeof c.request) return set_answer(c, text("error: the request is longer than 255 bytes\n")), true;
      if (!is_end) continue;
      if (c.got == 0) return end(c), false;
      return set_answer(c, answer(c.request, c.got)), true;
    }
  }
  void set_answer(client& c, const observed_answer& answer) noexcept {
    c.answer = answer;
    platform::watched_set::await_room(set_, c.descriptor);
  }
  void write(client& c, std::uint64_t now) noexcept {
    while (c.sent != c.answer.bytes) {
      std::size_t bytes = c.answer.bytes - c.sent;
      const socket::outcome sent = socket::write(c.descriptor, c.answer.text + c.sent, bytes);
      if (sent == socket::outcome::nothing) return;
      if (sent == socket::outcome::failed) break;
      c.sent += bytes;
      c.last = now;
    }
    end(c);
  }
  template <std::size_t N>
  static constexpr observed_answer text(const char (&words)[N]) noexcept {
    return {words, N - 1, false};
  }

  const socket* listening_ = nullptr;
  int set_ = -1;
  int reserve_ = -1;
  std::size_t connected_ = 0;
  client clients_[places];
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_OBSERVED_CLIENTS_H_

// ---- tarn/allocator/observe.h, continued ----

// ---- tarn/policies/detail/ranked_list.h ----

// A list by ascending rank, and within a rank in the order in which its nodes came. To enter and to leave costs as much as
// there are different ranks, however many nodes there are: the last node of each rank is linked to that of the next one.
#ifndef TARN_POLICIES_DETAIL_RANKED_LIST_H_
#define TARN_POLICIES_DETAIL_RANKED_LIST_H_

namespace tarn::detail {

/// What a node of the list keeps for it.
template <class Node>
struct ranked {
  Node* before = nullptr;
  Node* after = nullptr;
  Node* next_last = nullptr;  // of the last node of a rank: the last of the next higher rank
};

/// \tparam Node  has rank(), which doesn't change while it is in the list, and links, a ranked<Node>
template <class Node>
class ranked_list {
 public:
  constexpr Node* first() const noexcept { return first_; }

  void enter(Node& node) noexcept {
    Node* before = nullptr;  // the last of a lower rank, or of its own
    Node** last = &lasts_;
    while (*last != nullptr && (*last)->rank() < node.rank()) {
      before = *last;
      last = &before->links.next_last;
    }
    if (*last != nullptr && (*last)->rank() == node.rank()) {
      before = *last;
      node.links.next_last = before->links.next_last;
    } else {
      node.links.next_last = *last;
    }
    *last = &node;
    Node*& here = before != nullptr ? before->links.after : first_;
    node.links.before = before;
    node.links.after = here;
    if (here != nullptr) here->links.before = &node;
    here = &node;
  }

  /// Precondition: the node is in the list.
  void leave(Node& node) noexcept {
    Node* const before = node.links.before;
    Node* const after = node.links.after;
    if (after == nullptr || after->rank() != node.rank()) {
      Node** last = &lasts_;
      while (*last != &node) last = &(*last)->links.next_last;
      *last = node.links.next_last;
      if (before != nullptr && before->rank() == node.rank()) {
        before->links.next_last = *last;
        *last = before;
      }
    }
    (before != nullptr ? before->links.after : first_) = after;
    if (after != nullptr) after->links.before = before;
    node.links = {};
  }

 private:
  Node* first_ = nullptr;
  Node* lasts_ = nullptr;  // the last node of the lowest rank
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_RANKED_LIST_H_

// ---- tarn/policies/detail/asked_member.h ----

// A pool that threads of the process ask something: what it keeps for the list of those (asked_list.h).
#ifndef TARN_POLICIES_DETAIL_ASKED_MEMBER_H_
#define TARN_POLICIES_DETAIL_ASKED_MEMBER_H_

#include <type_traits>

namespace tarn::detail {

template <class Member>
class asked_list;

/// A library with pools in a list. They are removed when it ends, and none enters after that.
struct asked_library {
  enum class phase { before_any, some, over };
  atomic_word<phase> now = phase::before_any;
  void (*const at_first)() noexcept;  // the library's own function, whichever library calls

  /// Returns whether pools may still enter.
  bool begin() noexcept {
    phase before = phase::before_any;
    if (now.compare_exchange_strong(before, phase::some, memory_order_relaxed)) at_first();
    return before != phase::over;
  }
};

/// Constant-initialised, without a destructor, so that static pools have none: an owner that ends before the process leaves.
/// \tparam Member  derived from this
template <class Member>
class asked_member {
 public:
  asked_member(const asked_member&) = delete;
  asked_member& operator=(const asked_member&) = delete;

 protected:
  /// \param library  a static object ends with it
  constexpr explicit asked_member(asked_library& library) noexcept
      : is_static_(std::is_constant_evaluated()), library_(is_static_ ? &library : nullptr) {}

  bool has_entered() const noexcept { return entered_.load(memory_order_acquire); }
  /// Returns whether the member may enter the list now. \param own  of the code that enters it
  bool begins(asked_library& own) noexcept {
    asked_library* library = nullptr;
    if (library_.compare_exchange_strong(library, &own, memory_order_relaxed)) library = &own;
    if (library->begin()) return true;
    forget_library();
    return false;
  }

 private:
  friend class asked_list<Member>;
  friend class ranked_list<Member>;
  /// Its library has ended. A static object ends with it; any other may continue, in code of another library.
  void forget_library() noexcept {
    if (!is_static_) library_.store(nullptr, memory_order_relaxed);
  }

  const bool is_static_;
  atomic_word<bool> entered_ = false;
  atomic_word<asked_library*> library_;  // at whose end it leaves: a static object's own, or that of the code that entered it
  // The rest belongs to the list.
  int asked_by_ = 0;  // threads that are asking it now: it stays until they are done
  int paused_ = 0;    // how often it was paused and not resumed
  ranked<Member> links;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_ASKED_MEMBER_H_

// ---- tarn/policies/detail/forks.h ----

// What a fork asks of pools, where the system can copy a process.
#ifndef TARN_POLICIES_DETAIL_FORKS_H_
#define TARN_POLICIES_DETAIL_FORKS_H_

// ---- tarn/policies/platform/waiting.h ----

// Waiting: for a word to change, for a moment, for the clock.
#ifndef TARN_POLICIES_PLATFORM_WAITING_H_
#define TARN_POLICIES_PLATFORM_WAITING_H_

#include <climits>
#include <cstdint>

namespace tarn::detail {

/// Lets other threads run.
inline void yield_thread() noexcept { platform::system::yield(); }
inline void sleep_microseconds(unsigned n) noexcept { platform::system::sleep(std::uint64_t{n} * 1000); }

/// Nanoseconds of a clock that is never set.
inline std::uint64_t steady_nanoseconds() noexcept { return platform::system::nanoseconds(); }

/// Returns when the word is no longer `value`, after wake_one(), or for no reason: the caller must check again. Not for words
/// in memory that processes share. \param nanoseconds  after which it returns at the latest; 0: without a limit
TARN_COLD inline void wait_while(const unsigned* word, unsigned value, std::uint64_t nanoseconds = 0) noexcept {
  platform::system::wait_while(word, value, nanoseconds);
}
TARN_COLD inline void wake(const unsigned* word, int threads) noexcept { platform::system::wake(word, threads); }
/// Wakes one thread that waits for the word, if there is one.
inline void wake_one(const unsigned* word) noexcept { wake(word, 1); }
inline void wake_all(const unsigned* word) noexcept { wake(word, INT_MAX); }

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_WAITING_H_

// ---- tarn/policies/platform/one_in_process.h ----

// Objects of which the process has one, whatever its libraries are: linked or loaded, with symbols that others see or not. Each
// library has one of its own, and an ELF note, loaded with it, that says where it is. All use that of the first library with
// such a note, in the loader's order. That is the program, if it has one; any other library then stays loaded. On Windows a
// small piece of named memory (a file mapping without a file) says where it is: that of the first module that asked, which
// stays loaded.
#ifndef TARN_POLICIES_PLATFORM_ONE_IN_PROCESS_H_
#define TARN_POLICIES_PLATFORM_ONE_IN_PROCESS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__ELF__) && defined(__linux__) && defined(__LP64__)
#if defined(__x86_64__)
#define TARN_HAS_NOTES 1
#define TARN_SYMBOL "i"
#elif defined(__aarch64__)
#define TARN_HAS_NOTES 1
#define TARN_SYMBOL "S"
#endif
#endif

#if defined(_WIN32) && !defined(TARN_PLATFORM_HEADER)
#define TARN_HAS_NAMED_MEMORY 1
#endif

#if defined(TARN_HAS_NOTES) || defined(TARN_HAS_NAMED_MEMORY)
#define TARN_IS_FOUND 1
#define TARN_FOUND_IN_PROCESS TARN_ONE_IN_LIBRARY
#else
#define TARN_FOUND_IN_PROCESS TARN_ONE_IN_PROCESS  // one if libraries share their variables
#endif

namespace tarn::detail {

#if defined(TARN_HAS_NOTES)

// What <link.h> and <dlfcn.h> have in a thousand lines.
struct loaded_segment {
  std::uint32_t type, flags;
  std::uintptr_t in_file, start, physical, bytes_in_file, bytes, alignment;
};
struct loaded_library {
  std::uintptr_t start;
  const char* path;
  const loaded_segment* segments;
  std::uint16_t count;
};
extern "C" int tarn_each_library(int (*)(const loaded_library*, std::size_t, void*), void*) noexcept asm("dl_iterate_phdr");
extern "C" [[gnu::weak]] void* tarn_open_library(const char*, int) noexcept asm("dlopen");  // null: nothing can be unloaded

/// A note of ours: the distance from here to the object follows.
struct process_note {
  std::uint32_t name_bytes = 5, content_bytes = 8, kind = 0;
  char name[8] = "tarn";
};
struct note_search {
  process_note wanted;
  void* object = nullptr;
  const char* path = "";
};

inline int find_note(const loaded_library* library, std::size_t, void* search) noexcept {
  constexpr std::uint32_t notes = 4;
  auto& s = *static_cast<note_search*>(search);
  for (const loaded_segment* at = library->segments; at != library->segments + library->count; ++at) {
    if (at->type != notes) continue;
    const std::size_t step = at->alignment == 8 ? 8 : 4;
    const auto rounded = [step](std::size_t n) { return (n + step - 1) & ~(step - 1); };
    for (std::size_t left = at->bytes, next = 0; left > sizeof(process_note) + 7; left = next < left ? left - next : 0) {
      const char* const note = reinterpret_cast<const char*>(library->start + at->start + at->bytes - left);
      if (std::memcmp(note, &s.wanted, sizeof s.wanted) == 0) {
        std::uintptr_t distance;
        std::memcpy(&distance, note + sizeof s.wanted, sizeof distance);
        s.object = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(note + sizeof s.wanted) + distance);
        s.path = library->path;
        return 1;
      }
      process_note other;
      std::memcpy(&other, note, sizeof other);
      next = 12 + rounded(other.name_bytes) + rounded(other.content_bytes);
    }
  }
  return 0;
}
/// Whether the library is there, and now stays.
inline bool keep_loaded(const char* path) noexcept {
  constexpr int lazy_noload_nodelete = 1 | 4 | 0x1000;
  return *path == 0 || &tarn_open_library == nullptr || tarn_open_library(path, lazy_noload_nodelete) != nullptr;
}
TARN_COLD inline void* find_in_process(std::uint32_t kind, void* mine, atomic_word<void*>& found) noexcept {
  for (int tries = 0;; ++tries) {
    note_search s{{.kind = kind}};
    tarn_each_library(find_note, &s);
    if (s.object == nullptr) s.object = mine;
    found.store(s.object, memory_order_release);  // what follows may allocate, and come here again
    if (keep_loaded(s.path) || tries == 9) return s.object;  // otherwise it was unloaded meanwhile
  }
}
#endif

#if defined(TARN_HAS_NAMED_MEMORY)
TARN_COLD inline void* find_in_process(std::uint32_t kind, void* mine, atomic_word<void*>& found) noexcept {
  const platform::windows::same_last_error same;
  void* const object = platform::windows::first_in_process(kind, mine);
  found.store(object, memory_order_release);
  return object;
}
#endif

/// \tparam Mine  this library's object
/// \tparam Kind  tells its type and layout: libraries with other numbers have another object
template <auto& Mine, std::uint32_t Kind>
class TARN_ONE_IN_LIBRARY one_in_process {
  using type = std::remove_reference_t<decltype(Mine)>;

 public:
  static type& get() noexcept {
#if defined(TARN_IS_FOUND)
    void* known = found_.load(memory_order_acquire);
    if (known == nullptr) [[unlikely]]
      known = find();
    return *static_cast<type*>(known);
#else
    return Mine;
#endif
  }

#if defined(TARN_IS_FOUND)
 private:
  TARN_COLD static void* find() noexcept {
#if defined(TARN_HAS_NOTES)
    asm volatile(
        ".pushsection .note.tarn, \"aGR\", %%note, tarn_note_%c1, comdat\n"
        ".balign 4\n.long 5, 8, %c1\n.asciz \"tarn\"\n.balign 4\n.quad %c0 - .\n.popsection"
        :
        : TARN_SYMBOL(&Mine), "i"(Kind));
#endif
    return find_in_process(Kind, &Mine, found_);
  }
  static inline constinit atomic_word<void*> found_ = nullptr;
#endif
};

}  // namespace tarn::detail

#undef TARN_HAS_NOTES
#undef TARN_HAS_NAMED_MEMORY
#undef TARN_IS_FOUND
#undef TARN_SYMBOL

#endif  // TARN_POLICIES_PLATFORM_ONE_IN_PROCESS_H_

// ---- tarn/policies/detail/this_thread_number.h ----

// A number for each thread of the process.
#ifndef TARN_POLICIES_DETAIL_THIS_THREAD_NUMBER_H_
#define TARN_POLICIES_DETAIL_THIS_THREAD_NUMBER_H_

#include <cstdint>
#include <type_traits>

namespace tarn::detail {

/// 64 bits where the processor can count in them at once.
using thread_number = std::conditional_t<platform::has_wide_atomics, std::uint64_t, std::uintptr_t>;

/// Whoever numbers the threads of the process.
struct thread_numbering {
  thread_number& (*const of_thread)() noexcept;  // where the calling thread has its number; 0: it has none yet
  atomic_word<thread_number> last = 0;

  TARN_COLD thread_number ask() noexcept {
    thread_number& number = of_thread();
    if (number == 0) number = last.fetch_add(1, memory_order_relaxed) + 1;
    return number;
  }
};
TARN_ONE_IN_LIBRARY inline thread_number& number_of_thread() noexcept {
  static constinit TARN_THREAD_LOCAL thread_number number = 0;
  return number;
}
TARN_FOUND_IN_PROCESS inline constinit thread_numbering library_numbering{number_of_thread};

/// A number that no other thread of the process ever has: 1, 2, ... in the order in which threads ask. Where a thread has no
/// variables of its own, the system's number for it, which a later thread may have again.
TARN_STEP thread_number this_thread_number() noexcept {
  if constexpr (platform::system::has_thread_locals) {
    static constinit TARN_THREAD_LOCAL thread_number known = 0;
    if (known == 0) [[unlikely]] known = one_in_process<library_numbering, 0x101>::get().ask();
    return known;
  } else {
    return platform::system::this_thread();
  }
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_THIS_THREAD_NUMBER_H_

// ---- tarn/policies/platform/single_threaded.h ----

// Whether the process has had only one thread, if the C library reports that: then a lock may be skipped.
#ifndef TARN_POLICIES_PLATFORM_SINGLE_THREADED_H_
#define TARN_POLICIES_PLATFORM_SINGLE_THREADED_H_

namespace tarn::detail {

/// glibc 2.32 and later know; elsewhere this is never true, but without threads always. Nor is it under ThreadSanitizer, which
/// must see every lock.
TARN_STEP bool is_single_threaded() noexcept {
#if defined(TARN_TSAN)
  return false;
#else
  return platform::system::is_single_threaded();
#endif
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_SINGLE_THREADED_H_

// ---- tarn/policies/platform/thread_sanitizer.h ----

// Annotations of the library's own mutex for ThreadSanitizer. Without them it sees races, but not lock-order inversions.
#ifndef TARN_POLICIES_PLATFORM_THREAD_SANITIZER_H_
#define TARN_POLICIES_PLATFORM_THREAD_SANITIZER_H_

#if defined(TARN_TSAN)
extern "C" {
void __tsan_mutex_pre_lock(void* mutex, unsigned flags);
void __tsan_mutex_post_lock(void* mutex, unsigned flags, int recursion);
int __tsan_mutex_pre_unlock(void* mutex, unsigned flags);
void __tsan_mutex_post_unlock(void* mutex, unsigned flags);
}
#endif

namespace tarn::detail {

#if defined(TARN_TSAN)
inline constexpr unsigned tsan_static = 1;  // as an object without a constructor: never made, never destroyed
inline constexpr unsigned tsan_try = 1 << 4;
inline constexpr unsigned tsan_failed = 1 << 5;

inline void tsan_before_lock(void* mutex) noexcept { __tsan_mutex_pre_lock(mutex, tsan_static); }
inline void tsan_after_lock(void* mutex) noexcept { __tsan_mutex_post_lock(mutex, tsan_static, 0); }
inline void tsan_before_try_lock(void* mutex) noexcept { __tsan_mutex_pre_lock(mutex, tsan_static | tsan_try); }
inline void tsan_after_try_lock(void* mutex, bool got) noexcept {
  __tsan_mutex_post_lock(mutex, tsan_static | tsan_try | (got ? 0 : tsan_failed), 0);
}
inline void tsan_before_unlock(void* mutex) noexcept { __tsan_mutex_pre_unlock(mutex, tsan_static); }
inline void tsan_after_unlock(void* mutex) noexcept { __tsan_mutex_post_unlock(mutex, tsan_static); }
#else
TARN_STEP void tsan_before_lock(void*) noexcept {}
TARN_STEP void tsan_after_lock(void*) noexcept {}
TARN_STEP void tsan_before_try_lock(void*) noexcept {}
TARN_STEP void tsan_after_try_lock(void*, bool) noexcept {}
TARN_STEP void tsan_before_unlock(void*) noexcept {}
TARN_STEP void tsan_after_unlock(void*) noexcept {}
#endif

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_THREAD_SANITIZER_H_

// ---- tarn/policies/locking/mutex.h ----

// The library's own mutex: one word, constant-initialised and trivially destructible, so that static pools can have it on every
// system. It needs no header of the standard library.
#ifndef TARN_POLICIES_LOCKING_MUTEX_H_
#define TARN_POLICIES_LOCKING_MUTEX_H_

namespace tarn {

/// A Lockable, 4 bytes. A thread that finds it locked spins for a moment, then sleeps until it is woken. It is not fair, not
/// recursive, and not for memory shared between processes. While the process has one thread, lock() and unlock() are a load and
/// a store: an allocation and a free then take 2.2 ns, and 8.7 with threads; under a std::mutex 10.8 and 11.4 (AMD EPYC). Where
/// the target has no threads, it keeps nobody out: not an interrupt either.
class mutex {
 public:
  /// Says that it needs threads: where there are none, it would keep nothing apart.
  static constexpr bool keeps_threads_apart = true;

  /// Unlocked.
  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  /// Waits until it is unlocked, and locks it. Precondition: this thread doesn't hold it.
  TARN_STEP void lock() noexcept {
    if constexpr (!platform::system::has_threads) return word_.store(locked, detail::memory_order_relaxed);
    detail::tsan_before_lock(this);
    unsigned seen = unlocked;
    if (detail::is_single_threaded() && word_.load(detail::memory_order_relaxed) == unlocked) {
      word_.store(locked, detail::memory_order_relaxed);
    } else if (!word_.compare_exchange_strong(seen, locked, detail::memory_order_acquire, detail::memory_order_relaxed))
        [[unlikely]] {
      lock_slow();
    }
    detail::tsan_after_lock(this);
  }
  /// Locks it unless it is locked. Returns whether it did. Doesn't wait.
  bool try_lock() noexcept {
    detail::tsan_before_try_lock(this);
    unsigned seen = unlocked;
    const bool got = word_.compare_exchange_strong(seen, locked, detail::memory_order_acquire, detail::memory_order_relaxed);
    detail::tsan_after_try_lock(this, got);
    return got;
  }
  /// Unlocks it. Precondition: this thread holds it. It may have been locked while the process had one thread:
  /// starting the second thread orders the two.
  TARN_STEP void unlock() noexcept {
    if constexpr (!platform::system::has_threads) return word_.store(unlocked, detail::memory_order_relaxed);
    detail::tsan_before_unlock(this);
    if (detail::is_single_threaded()) word_.store(unlocked, detail::memory_order_relaxed);
    else if (word_.exchange(unlocked, detail::memory_order_release) == contended) [[unlikely]]
      detail::wake_one(word_.address());
    detail::tsan_after_unlock(this);
  }

 private:
  static constexpr unsigned unlocked = 0;
  static constexpr unsigned locked = 1;
  static constexpr unsigned contended = 2;  // locked, and perhaps a thread waits

  TARN_COLD void lock_slow() noexcept {
    constexpr int spins = 100;  // the holder is usually in a pool's hit: some nanoseconds
    for (int i = 0; i != spins; ++i) {
      detail::pause_processor();
      unsigned seen = unlocked;
      if (word_.load(detail::memory_order_relaxed) == unlocked &&
          word_.compare_exchange_weak(seen, locked, detail::memory_order_acquire, detail::memory_order_relaxed))
        return;
    }
    while (word_.exchange(contended, detail::memory_order_acquire) != unlocked) detail::wait_while(word_.address(), contended);
  }

  detail::atomic_word<unsigned> word_ = unlocked;
};

}  // namespace tarn

#endif  // TARN_POLICIES_LOCKING_MUTEX_H_

// ---- tarn/policies/platform/held.h ----

// Scopes that hold a mutex: std::lock_guard and std::unique_lock would cost <mutex>.
#ifndef TARN_POLICIES_PLATFORM_HELD_H_
#define TARN_POLICIES_PLATFORM_HELD_H_

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
  explicit tried(Mutex& mutex) : mutex_(mutex.try_lock() ? &mutex : nullptr) {}
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

// ---- tarn/policies/detail/forks.h, continued ----

#if defined(TARN_HAS_FORK)

// ---- tarn/policies/detail/fork_gate.h ----

// The gate that keeps forks and calls of stores apart. A thread is inside it while it may call a store: while it holds a growth
// guard, a group_guard, or asks pools to trim. A fork closes the gate and waits until nobody is inside, so that in the child no
// store and no growth guard is half way.
//
// A store may wait for a lock of the program, whose holder waits at the closed gate. So the fork waits for a moment only; then
// it continues as soon as all that are inside are at a store at once, and each of those waits, when it comes back, until the
// fork is over. Until then they come and go: one that is waited for may itself wait for one that comes back.
//
//   inside   threads inside, counted once each             at_store   those of them that are at a store, or wait for a
//   closed   newcomers wait                                           growth guard, whose holder may be at a store
//   passing  the fork goes on past the threads at a store
#ifndef TARN_POLICIES_DETAIL_FORK_GATE_H_
#define TARN_POLICIES_DETAIL_FORK_GATE_H_

#include <cstdint>

namespace tarn::detail {

/// Where a thread is.
struct fork_position {
  unsigned depth = 0;  // how often it entered the gate
  bool at_store = false;
};

/// The functions return at once, unless a fork is in progress.
class fork_gate {
 public:
  /// Waits while the gate is closed.
  void enter(fork_position& me) noexcept {
    for (unsigned seen = word_.load(memory_order_relaxed); !try_enter(seen); seen = word_.load(memory_order_relaxed))
      if (is_shut(seen)) wait_while(word_.address(), seen);
    me.depth = 1;
  }
  /// Doesn't wait. Returns whether it entered.
  bool try_enter(fork_position& me) noexcept {
    unsigned seen = word_.load(memory_order_relaxed);
    while (!is_shut(seen))
      if (try_enter(seen)) return me.depth = 1, true;
    return false;
  }
  void leave(fork_position& me) noexcept {
    me.depth = 0;
    tell(word_.fetch_sub(one_inside, memory_order_release));
  }

  /// Called inside, before a store is. Nothing of a pool may change until come_back().
  void go_to_store(fork_position& me) noexcept {
    me.at_store = true;
    tell(word_.fetch_add(one_at_store, memory_order_release));
  }
  void come_back(fork_position& me) noexcept {
    for (unsigned seen = word_.load(memory_order_relaxed);;) {
      if ((seen & passing) != 0) {
        wait_while(word_.address(), seen);
        seen = word_.load(memory_order_relaxed);
      } else if (word_.compare_exchange_weak(seen, seen - one_at_store, memory_order_acquire, memory_order_relaxed)) {
        break;
      }
    }
    me.at_store = false;
  }

  // ---- the fork ----------------------------------------------------------------------------------------------------------

  /// Returns when nobody is inside but the caller, or only threads at stores. \param patience  nanoseconds to wait for stores
  void close(const fork_position& me, std::uint64_t patience) noexcept {
    const unsigned own = me.depth != 0 ? 1 : 0;
    const unsigned own_at_store = me.at_store ? 1 : 0;
    word_.fetch_or(closed, memory_order_acquire);
    const std::uint64_t start = steady_nanoseconds();
    for (std::uint64_t waited = 0; waited < patience; waited = steady_nanoseconds() - start) {
      const unsigned seen = word_.load(memory_order_acquire);
      if (inside(seen) == own) return;
      wait_while(word_.address(), seen, patience - waited);
    }
    for (unsigned seen = word_.load(memory_order_acquire);;) {
      if (inside(seen) - own != at_store(seen) - own_at_store) {
        wait_while(word_.address(), seen);
        seen = word_.load(memory_order_acquire);
      } else if (word_.compare_exchange_weak(seen, seen | passing, memory_order_acquire, memory_order_acquire)) {
        return;
      }
    }
  }
  void open() noexcept {
    word_.fetch_and(~(closed | passing), memory_order_release);
    wake_all(word_.address());
  }
  /// In the child, where only the caller is left.
  void open_in_child(const fork_position& me) noexcept {
    word_.store((me.depth != 0 ? one_inside : 0) | (me.at_store ? one_at_store : 0), memory_order_release);
  }

 private:
  static constexpr unsigned closed = 1u << 31;
  static constexpr unsigned passing = 1u << 30;
  static constexpr unsigned one_at_store = 1u << 15;
  static constexpr unsigned one_inside = 1;
  static constexpr unsigned most = one_at_store - 1;  // more threads than that wait for each other

  static constexpr unsigned inside(unsigned word) noexcept { return word & most; }
  static constexpr unsigned at_store(unsigned word) noexcept { return word / one_at_store & most; }
  static constexpr bool is_shut(unsigned word) noexcept { return (word & closed) != 0 || inside(word) == most; }

  bool try_enter(unsigned& seen) noexcept {
    return !is_shut(seen) &&
           word_.compare_exchange_weak(seen, seen + one_inside, memory_order_acquire, memory_order_relaxed);
  }
  /// A fork, or a newcomer, may wait for the change.
  void tell(unsigned before) noexcept {
    if (is_shut(before)) [[unlikely]]
      wake_all(word_.address());
  }

  atomic_word<unsigned> word_ = 0;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_FORK_GATE_H_

// ---- tarn/policies/detail/fork_list.h ----

// After fork() the child has one thread, and every mutex that another thread held would stay locked for ever, with what it
// guards half changed. So a fork first closes the gate (fork_gate.h), then holds every leaf mutex, and the child makes anew
// what threads held that are gone.
//
// Locks, in this order; a thread that holds one takes only what stands below it:
//
//   the program's own
//   forking, then the gate: one fork at a time; whoever may call a store is inside
//   store mutexes  growth guards: the outer pool's before that of the pool that is its store; under them stores are called,
//                  and may take locks of the program
//   list           the members
//   leaf mutexes   under one nothing else is locked, so that a fork can hold them all
#ifndef TARN_POLICIES_DETAIL_FORK_LIST_H_
#define TARN_POLICIES_DETAIL_FORK_LIST_H_

#include <cstdint>
#include <new>

namespace tarn::detail {

/// A library with pools. Its handlers act for the process while it is the first in the list.
struct fork_library {
  fork_library* next = nullptr;
  atomic_word<bool> is_installed = false;
  void (*const install)() noexcept;  // the library's own function, whichever library calls
};

enum class fork_step { lock, unlock, renew };  // renew: in the child, where no other thread is left

/// What no other thread may hold at a fork. Constant-initialised, without a destructor, so that static pools have none: an
/// owner that ends before the process calls leave().
class fork_member {
 public:
  using handler = void (*)(fork_member&, fork_step) noexcept;

  constexpr fork_member() noexcept;
  fork_member(const fork_member&) = delete;
  fork_member& operator=(const fork_member&) = delete;

  /// Called before the leaf mutex is locked. Waits if a fork is about to take it: with 16 busy threads, a fork then takes a
  /// tenth of the time that it takes to compete for each mutex (prototype). Returns whether to lock: not if the caller is the
  /// thread that forks, in a handler of the program, and holds all.
  TARN_STEP bool admits(handler act) noexcept {
    if (phase_.load(memory_order_acquire) != phase::listed) [[unlikely]]
      return admits_slow(act);
    return true;
  }
  /// Whether admits() would enter the list.
  bool is_apart() const noexcept { return phase_.load(memory_order_acquire) == phase::apart; }
  void leave() noexcept;

 private:
  friend class fork_list;
  enum class phase : unsigned char { apart, listed, taken };
  TARN_ONE_IN_LIBRARY bool admits_slow(handler act) noexcept;

  // A static object is of the library that it lies in, whichever library's code reaches it first: with -rdynamic, a library's
  // own functions may be the program's, and the program stays when the library goes. Other objects are of the library whose
  // code enters them.
  atomic_word<fork_library*> library_;
  fork_member* next_ = nullptr;
  fork_member* previous_ = nullptr;
  handler act_ = nullptr;
  atomic_word<phase> phase_ = phase::apart;
  const bool is_static_;
};

/// One for the process.
class fork_list {
 public:
  /// \param of_thread  where the calling thread has its place
  constexpr explicit fork_list(fork_position& (*of_thread)() noexcept) noexcept : position_(of_thread) {}
  fork_position& position() const noexcept { return position_(); }

  static constexpr std::uint64_t patience = 50'000'000;  // nanoseconds that a fork waits for stores

  fork_gate gate;

  void add(fork_member& m, fork_member::handler act, fork_library* library) noexcept {
    const held lock(mutex_);
    if (m.phase_.load(memory_order_relaxed) != fork_member::phase::apart) return;
    m.act_ = act;
    m.library_.store(library, memory_order_relaxed);
    m.previous_ = nullptr;
    m.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &m;
    first_ = &m;
    m.phase_.store(fork_member::phase::listed, memory_order_release);
  }
  void remove(fork_member& m) noexcept {
    const bool is_mine = holds_all();
    if (!is_mine) mutex_.lock();
    if (m.phase_.load(memory_order_relaxed) != fork_member::phase::apart) unlink(m);
    if (!m.is_static_) m.library_.store(nullptr, memory_order_relaxed);
    if (!is_mine) mutex_.unlock();
  }

  void add(fork_library& library) noexcept {
    const held lock(mutex_);
    *place_of(nullptr) = &library;
  }
  /// It is unloaded, or the process ends: nothing of another library may refer to it any more.
  void remove(fork_library& library) noexcept {
    const held lock(mutex_);
    for (fork_member *m = first_, *next = nullptr; m != nullptr; m = next) {
      next = m->next_;
      if (m->library_.load(memory_order_relaxed) != &library) continue;
      unlink(*m);
      m->library_.store(nullptr, memory_order_relaxed);
    }
    if (fork_library*& at = *place_of(&library); at != nullptr) at = library.next;
  }
  /// Whether the library's handlers act.
  bool is_first(const fork_library& library) noexcept {
    if (holds_all()) return false;  // another's have
    const held lock(mutex_);
    return libraries_ == &library;
  }

  /// Whether the calling thread forks and holds everything: then all is its own.
  bool holds_all() const noexcept {
    const thread_number forker = forker_.load(memory_order_relaxed);
    return forker != 0 && forker == this_thread_number();
  }
  void wait_for_fork() noexcept {
    while (taking_.load(memory_order_acquire) != 0) wait_while(taking_.address(), 1);
  }

  // ---- the fork ----------------------------------------------------------------------------------------------------------

  void before() noexcept {
    fork_position& me = position();
    lock_forking(me);
    gate.close(me, patience);
    taking_.store(1, memory_order_relaxed);
    mutex_.lock();
    for (fork_member* m = first_; m != nullptr; m = m->next_) m->phase_.store(fork_member::phase::taken, memory_order_release);
    for (fork_member* m = first_; m != nullptr; m = m->next_) m->act_(*m, fork_step::lock);
    forker_.store(this_thread_number(), memory_order_relaxed);
  }
  void after_in_parent() noexcept {
    if (!holds_all()) return;
    forker_.store(0, memory_order_relaxed);
    give_back_all(fork_step::unlock);
    mutex_.unlock();
    taking_.store(0, memory_order_release);
    wake_all(taking_.address());
    gate.open();
    forking_.unlock();
  }
  void after_in_child() noexcept {
    if (!holds_all()) return;
    forker_.store(0, memory_order_relaxed);
    give_back_all(fork_step::renew);
    ::new (&mutex_) tarn::mutex;
    taking_.store(0, memory_order_relaxed);
    gate.open_in_child(position());
    ::new (&forking_) tarn::mutex;
  }

 private:
  /// The link to a library, or the last link.
  fork_library** place_of(const fork_library* library) noexcept {
    fork_library** at = &libraries_;
    while (*at != nullptr && *at != library) at = &(*at)->next;
    return at;
  }
  /// Under a group_guard the caller is inside the gate, and another fork waits for it: it may pass the caller.
  void lock_forking(fork_position& me) noexcept {
    const bool can_be_passed = me.depth != 0 && !me.at_store;
    if (can_be_passed) gate.go_to_store(me);
    forking_.lock();
    if (can_be_passed) gate.come_back(me);
  }
  void unlink(fork_member& m) noexcept {
    (m.previous_ != nullptr ? m.previous_->next_ : first_) = m.next_;
    if (m.next_ != nullptr) m.next_->previous_ = m.previous_;
    m.phase_.store(fork_member::phase::apart, memory_order_release);
  }
  void give_back_all(fork_step step) noexcept {
    for (fork_member *m = first_, *next = nullptr; m != nullptr; m = next) {
      next = m->next_;  // another thread may end it as soon as it is unlocked
      m->phase_.store(fork_member::phase::listed, memory_order_relaxed);
      m->act_(*m, step);
    }
  }

  fork_position& (*const position_)() noexcept;
  tarn::mutex forking_;
  tarn::mutex mutex_;  // of the members and libraries
  fork_member* first_ = nullptr;
  fork_library* libraries_ = nullptr;
  atomic_word<unsigned> taking_ = 0;        // 1: the fork takes the leaf mutexes, or holds them
  atomic_word<thread_number> forker_ = 0;  // the thread that holds all
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_FORK_LIST_H_

// ---- tarn/policies/detail/fork_handlers.h ----

// The list of the process, and the handlers that each library with pools has for forks.
#ifndef TARN_POLICIES_DETAIL_FORK_HANDLERS_H_
#define TARN_POLICIES_DETAIL_FORK_HANDLERS_H_

#include <cstdlib>
#include <type_traits>

namespace tarn::detail {

TARN_ONE_IN_LIBRARY inline fork_position& position_of_thread() noexcept {
  static constinit TARN_THREAD_LOCAL fork_position position;
  return position;
}
TARN_FOUND_IN_PROCESS inline constinit fork_list library_list{position_of_thread};
inline fork_list& process_forks() noexcept { return one_in_process<library_list, 0x102>::get(); }

// Functions of a library's own, as its variable is: another's would install handlers that go with that one.
TARN_ONE_IN_LIBRARY void install_fork_handlers() noexcept;
TARN_ONE_IN_LIBRARY inline constinit fork_library library_forks{.install = install_fork_handlers};
TARN_ONE_IN_LIBRARY inline void before_fork() noexcept {
  if (process_forks().is_first(library_forks)) process_forks().before();
}
TARN_ONE_IN_LIBRARY inline void after_fork_in_parent() noexcept { process_forks().after_in_parent(); }
TARN_ONE_IN_LIBRARY inline void after_fork_in_child() noexcept { process_forks().after_in_child(); }
TARN_ONE_IN_LIBRARY inline void at_end_of_library() noexcept { process_forks().remove(library_forks); }
/// Registering may allocate, so nothing is held.
TARN_COLD TARN_ONE_IN_LIBRARY inline void install_fork_handlers() noexcept {
  if (library_forks.is_installed.exchange(true, memory_order_relaxed)) return;
  if (!platform::system::at_fork(before_fork, after_fork_in_parent, after_fork_in_child))  // no memory: the next tries again
    return library_forks.is_installed.store(false, memory_order_relaxed);
  process_forks().add(library_forks);
  std::atexit(at_end_of_library);
}
/// Handlers that are registered first run last before a fork: then those of the program have locked what they need. A template,
/// so that only programs with such mutexes have it.
struct TARN_ONE_IN_LIBRARY early_fork_handlers {
  TARN_STEP early_fork_handlers() noexcept { this_thread_number(), install_fork_handlers(); }
};
template <class>
TARN_FIRST_AT_LOAD static const early_fork_handlers fork_handlers;

constexpr fork_member::fork_member() noexcept
    : library_(std::is_constant_evaluated() ? &library_forks : nullptr), is_static_(std::is_constant_evaluated()) {}
inline bool fork_member::admits_slow(handler act) noexcept {
  fork_library* library = library_.load(memory_order_relaxed);
  if (library == nullptr) library = &library_forks;
  fork_list& list = process_forks();
  if (list.holds_all()) return false;
  if (phase_.load(memory_order_acquire) == phase::taken) return list.wait_for_fork(), true;
  library->install();
  list.add(*this, act, library);
  return true;
}
inline void fork_member::leave() noexcept {
  if (library_.load(memory_order_acquire) != nullptr) process_forks().remove(*this);
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_FORK_HANDLERS_H_

// ---- tarn/policies/detail/forks.h, continued ----

// ---- tarn/policies/detail/gate_stays.h ----

// What the gate of forks asks of the code between a pool and its store: to enter it, and to say when a store is called.
#ifndef TARN_POLICIES_DETAIL_GATE_STAYS_H_
#define TARN_POLICIES_DETAIL_GATE_STAYS_H_

namespace tarn::detail {

struct only_try {};

/// A stay inside the gate. One within another, in a store that is a pool itself, ends the outer one's time at the store.
class [[nodiscard]] inside_gate {
 public:
  /// Waits while a fork is in progress.
  inside_gate() noexcept {
    if (is_outermost()) process_forks().gate.enter(me()), how_ = how::outermost;
    else begin_inner();
  }
  /// Doesn't wait, if this is the outermost stay.
  explicit inside_gate(only_try) noexcept {
    if (!is_outermost()) begin_inner();
    else if (process_forks().gate.try_enter(me())) how_ = how::outermost;
  }
  ~inside_gate() {
    if (how_ == how::outermost) process_forks().gate.leave(me());
    else if (how_ != how::outside) --me().depth;
    if (how_ == how::from_store) process_forks().gate.go_to_store(me());
  }
  inside_gate(const inside_gate&) = delete;
  inside_gate& operator=(const inside_gate&) = delete;

  explicit operator bool() const noexcept { return how_ != how::outside; }

 private:
  enum class how : unsigned char { outside, outermost, inner, from_store };

  static fork_position& me() noexcept { return process_forks().position(); }
  /// The thread that forks passes in and out, in a handler of the program.
  static bool is_outermost() noexcept { return me().depth == 0 && !process_forks().holds_all(); }
  void begin_inner() noexcept {
    how_ = how::inner;
    if (me().at_store && !process_forks().holds_all()) process_forks().gate.come_back(me()), how_ = how::from_store;
    ++me().depth;
  }

  how how_ = how::outside;
};

/// Held while a store is called, or while a thread waits for who may be at one.
class [[nodiscard]] store_call {
 public:
  store_call() noexcept : counts_(me().depth != 0 && !me().at_store && !process_forks().holds_all()) {
    if (counts_) process_forks().gate.go_to_store(me());
  }
  ~store_call() {
    if (counts_) process_forks().gate.come_back(me());
  }
  store_call(const store_call&) = delete;
  store_call& operator=(const store_call&) = delete;

 private:
  static fork_position& me() noexcept { return process_forks().position(); }

  bool counts_;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_GATE_STAYS_H_

// ---- tarn/policies/detail/forks.h, continued ----

#else

// ---- tarn/policies/detail/no_forks.h ----

// In place of fork_list.h, fork_gate.h and what stands on them, where no process is copied: the same names, and nothing behind
// them.
#ifndef TARN_POLICIES_DETAIL_NO_FORKS_H_
#define TARN_POLICIES_DETAIL_NO_FORKS_H_

namespace tarn::detail {

enum class fork_step { lock, unlock, renew };

class fork_member {
 public:
  using handler = void (*)(fork_member&, fork_step) noexcept;

  TARN_STEP static constexpr bool admits(handler) noexcept { return true; }
  static constexpr bool is_apart() noexcept { return false; }
  static constexpr void leave() noexcept {}
};

struct fork_list {
  static constexpr bool holds_all() noexcept { return false; }
};
TARN_STEP constexpr fork_list process_forks() noexcept { return {}; }

template <class>
inline constexpr bool fork_handlers = false;

struct only_try {};

class [[nodiscard]] inside_gate {
 public:
  inside_gate() noexcept {}
  explicit inside_gate(only_try) noexcept {}
  inside_gate(const inside_gate&) = delete;
  inside_gate& operator=(const inside_gate&) = delete;
  explicit operator bool() const noexcept { return true; }
};

class [[nodiscard]] store_call {
 public:
  store_call() noexcept {}
  store_call(const store_call&) = delete;
  store_call& operator=(const store_call&) = delete;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_NO_FORKS_H_

// ---- tarn/policies/detail/forks.h, continued ----

#endif

#endif  // TARN_POLICIES_DETAIL_FORKS_H_

// ---- tarn/policies/detail/protocol.h ----

// The small types that the pool and the policies exchange.
#ifndef TARN_POLICIES_DETAIL_PROTOCOL_H_
#define TARN_POLICIES_DETAIL_PROTOCOL_H_

#include <concepts>
#include <cstddef>

namespace tarn::detail {

/// What became of a block that was given back. A policy that never refuses returns the constant `done`, so that the test for it
/// is optimised away.
enum class status : unsigned char {
  done,
  crowded,      // done, and the slow half must make room before the next push
  surplus,      // done, and more chunks are empty than the retention policy keeps
  full,         // not done: the fast half can't take it, the slow half must
  uncounted,    // the same, and the block isn't counted as free yet
  refused,      // not done: a checking policy found misuse
  damaged,      // done, but a checking policy found misuse on the way
};

/// A region of bytes as a store gave it; null if it refused.
struct memory {
  void* start = nullptr;
  std::size_t bytes = 0;
  TARN_STEP explicit constexpr operator bool() const noexcept { return start != nullptr; }
};

inline bool overlap(memory a, memory b) noexcept {
  const auto* const at = static_cast<const char*>(a.start);
  const auto* const other = static_cast<const char*>(b.start);
  return other < at + a.bytes && at < other + b.bytes;
}

/// What a growth policy wants next, in blocks. `wanted` 0: it refuses. `at_most` limits the blocks that the pool makes of a
/// region larger than requested. If the store refuses `wanted`, half of it is tried, and so on down to `at_least`.
struct chunk_request {
  std::size_t wanted = 0;
  std::size_t at_most = 0;
  std::size_t at_least = static_cast<std::size_t>(-1);
};

/// A free block that holds the address of the next one.
struct free_link {
  free_link* next;
};

/// Calls visit(block) for each of the first `n` blocks.
template <class Visit>
void each_of(void* const* blocks, std::size_t n, Visit& visit) {
  for (std::size_t i = 0; i != n; ++i) visit(blocks[i]);
}

/// The index of the first null among `n` blocks, or `n`. Four at a time: 0.18 instead of 0.31 ns a block (AMD EPYC).
inline std::size_t first_null(void* const* blocks, std::size_t n) noexcept {
  std::size_t i = 0;
  while (n - i >= 4 && blocks[i] != nullptr && blocks[i + 1] != nullptr && blocks[i + 2] != nullptr && blocks[i + 3] != nullptr)
    i += 4;
  while (i != n && blocks[i] != nullptr) ++i;
  return i;
}
/// Moves the blocks among `n` to the front of the array. Returns how many.
inline std::size_t without_nulls(void** blocks, std::size_t n) noexcept {
  std::size_t kept = first_null(blocks, n);
  for (std::size_t i = kept; i != n; ++i)
    if (blocks[i] != nullptr) blocks[kept++] = blocks[i];
  return kept;
}

/// A guard that guards nothing.
struct no_guard {
  TARN_STEP ~no_guard() {}  // not trivial, so that a guard that is never named causes no warning
};

/// The column of an axis that keeps nothing per chunk. One type for each axis, since a chunk inherits all of them.
template <class Axis>
struct no_column {
  template <class Geometry>
  TARN_STEP static constexpr std::size_t column_bytes(std::size_t, const Geometry&) noexcept {
    return 0;
  }
  template <class Geometry>
  TARN_STEP constexpr void open(std::byte*, std::size_t, const Geometry&) noexcept {}
};

/// What an axis keeps per chunk.
template <class C, class Geometry>
concept column = std::default_initializable<C> && requires(C& c, std::byte* start, std::size_t n, const Geometry& geometry) {
  { C::column_bytes(n, geometry) } noexcept -> std::same_as<std::size_t>;
  { c.open(start, n, geometry) } noexcept -> std::same_as<void>;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_PROTOCOL_H_

// ---- tarn/policies/detail/store_mutex.h ----

// A mutex that is held while a store is called, as the gate of forks asks; and what forks ask of one that isn't.
#ifndef TARN_POLICIES_DETAIL_STORE_MUTEX_H_
#define TARN_POLICIES_DETAIL_STORE_MUTEX_H_

#include <concepts>
#include <cstdint>
#include <new>
#include <type_traits>

namespace tarn::detail {

template <class M>
concept try_lockable = requires(M& m) {
  { m.try_lock() } -> std::convertible_to<bool>;
};

/// The same, where threads may be inside the gate: a locking policy keeps them apart, or other pools ask this one to trim.
template <class Locking, bool Asked = false>
using store_call_under = std::conditional_t<Locking::traits.one_thread && !Asked, no_guard, store_call>;

/// Makes a mutex anew, in the child of a fork: the thread that locked it may be gone, or be this one, which the system knows by
/// another number than in the parent. So unlock() may do nothing.
template <class Mutex>
void renew(Mutex& mutex) {
  ::new (static_cast<void*>(&mutex)) Mutex;
}

/// What a fork does with a leaf mutex.
template <class Mutex>
void act_on_leaf(Mutex& mutex, fork_step step) {
  if (step == fork_step::lock) {
#if defined(TARN_TSAN)
    // Members come and go, so each fork has an order of its own. Only one holds several, so no two wait for each other, but
    // ThreadSanitizer doesn't see that. It doesn't ask in which order mutexes were tried.
    if constexpr (try_lockable<Mutex>) {
      while (!mutex.try_lock()) yield_thread();
      return;
    }
#endif
    mutex.lock();
  } else {
    mutex.unlock();
    if (step == fork_step::renew) renew(mutex);
  }
}

/// A mutex under which stores are called, held through a guard.
template <class Mutex>
class store_mutex {
 public:
  /// Holds the mutex, inside the gate. Not if the thread that forks would wait, in a handler of the program: the holder is at
  /// a store, and then waits until the fork is over.
  class [[nodiscard]] guard {
   public:
    /// `others`: another guard of this thread holds it.
    explicit guard(store_mutex& m, bool others = false) {
      if (others) return;
      holds_ = !process_forks().holds_all() || !m.is_taken();
      if (holds_) holder_before_ = m.lock(), mutex_ = &m;
    }
    /// Waits for nothing, not even a fork.
    guard(store_mutex& m, only_try what, bool others = false)
      requires try_lockable<Mutex>
        : inside_(what) {
      const thread_number me = this_thread_number();
      holds_ = others || (inside_ && m.mutex_.try_lock());
      if (holds_ && !others) holder_before_ = m.note(me), mutex_ = &m;
    }
    ~guard() {
      if (mutex_ != nullptr) mutex_->unlock(holder_before_);
    }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    explicit operator bool() const noexcept { return holds_; }

   private:
    inside_gate inside_;
    store_mutex* mutex_ = nullptr;      // to unlock
    thread_number holder_before_ = 0;  // this thread, if the mutex is recursive
    bool holds_ = true;
  };

  /// If its holder is this thread, it is locked again. If nobody is noted, a thread that waited, and so was at a store, may
  /// have locked it just before the fork.
  void renew_in_child() {
    const bool is_mine = holder_.load(memory_order_relaxed) == this_thread_number();
    if (is_mine) mutex_.unlock();
    renew(mutex_);
    if (is_mine) act_on_leaf(mutex_, fork_step::lock);
    else holder_.store(0, memory_order_relaxed);
  }

 private:
  /// Asked while no other thread can unlock it.
  bool is_taken() {
    if constexpr (try_lockable<Mutex>) {
      if (!mutex_.try_lock()) return true;
      mutex_.unlock();
      return false;
    } else {
      return holder_.load(memory_order_relaxed) != 0;
    }
  }
  thread_number lock() {
    const thread_number me = this_thread_number();  // not under the mutex: the first in the process may allocate, here even
    if constexpr (try_lockable<Mutex>)
      if (mutex_.try_lock()) return note(me);
    const store_call wait;  // its holder may be at a store
    mutex_.lock();
    return note(me);
  }
  void unlock(thread_number holder_before) {
    holder_.store(holder_before, memory_order_relaxed);
    mutex_.unlock();
  }
  thread_number note(thread_number me) noexcept {
    const thread_number before = holder_.load(memory_order_relaxed);
    holder_.store(me, memory_order_relaxed);
    return before;
  }

  Mutex mutex_;
  atomic_word<thread_number> holder_ = 0;  // its thread's number
};

/// In the place of a leaf mutex, for the thread that forks: it holds that already.
template <class Mutex>
inline Mutex mutex_of_forker{};

/// A leaf mutex that a fork holds. Its owner calls leave() before it ends.
class fork_mutex : fork_member {
 public:
  void lock() { (admits(act) ? mutex_ : mutex_of_forker<tarn::mutex>).lock(); }
  void unlock() { (process_forks().holds_all() ? mutex_of_forker<tarn::mutex> : mutex_).unlock(); }
  using fork_member::leave;

 private:
  static void act(fork_member& m, fork_step step) noexcept { act_on_leaf(static_cast<fork_mutex&>(m).mutex_, step); }

  tarn::mutex mutex_;
};

/// As fork_mutex, but stores are called under it, and it is held through a guard.
class fork_store_mutex : fork_member {
 public:
  class [[nodiscard]] guard : store_mutex<tarn::mutex>::guard {
   public:
    explicit guard(fork_store_mutex& m) : store_mutex<tarn::mutex>::guard((m.admits(act), m.mutex_)) {}
    guard(fork_store_mutex& m, only_try what) : store_mutex<tarn::mutex>::guard((m.admits(act), m.mutex_), what) {}
    using store_mutex<tarn::mutex>::guard::operator bool;
  };
  using fork_member::leave;

 private:
  static void act(fork_member& m, fork_step step) noexcept {
    if (step == fork_step::renew) static_cast<fork_store_mutex&>(m).mutex_.renew_in_child();
  }

  store_mutex<tarn::mutex> mutex_;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_STORE_MUTEX_H_

// ---- tarn/policies/detail/asked_list.h ----

// The pools of the process that threads ask something: to trim, or how they are.
//
// Nothing here waits while it holds something: the list's mutex is never held while a pool is asked.
#ifndef TARN_POLICIES_DETAIL_ASKED_LIST_H_
#define TARN_POLICIES_DETAIL_ASKED_LIST_H_

#include <climits>
#include <cstddef>

namespace tarn::detail {

/// One walk through a list: one rank after the other, from the lowest.
struct asked_round {
  int from = INT_MIN;
  bool ended = false;
};

/// \tparam Member  an asked_member, with a rank()
template <class Member>
class asked_list : fork_member {
 public:
  /// Calls ask(member) for those of the next rank.
  template <class Ask>
  void ask_next(asked_round& round, Ask ask) noexcept {
    const inside_gate inside;
    asking now;
    for (begin(now, round); now.member != nullptr; next(now, round)) ask(*now.member);
  }

  std::size_t size() noexcept {
    const held lock(mutex());
    return size_;
  }
  /// fill(member) writes what asking it needs. Only the first call does something.
  template <class Fill>
  void add(Member& m, Fill fill) noexcept {
    const held lock(mutex());
    if (of(m).entered_.load(memory_order_relaxed)) return;
    fill(m);
    members_.enter(m);
    ++size_;
    of(m).entered_.store(true, memory_order_release);
  }
  void remove(Member& m) noexcept {
    pause(m);
    const held lock(mutex());
    if (of(m).entered_.load(memory_order_relaxed)) take_out(m);  // its library may have removed it meanwhile
    --of(m).paused_;
  }
  /// The library is unloaded, or the process ends.
  void remove_library(const asked_library& library) noexcept {
    tarn::mutex& held_one = mutex();
    const held lock(held_one);
    for (Member* m = members_.first(); m != nullptr;) {
      Member& here = *m;
      m = of(here).links.after;
      if (of(here).library_.load(memory_order_relaxed) != &library) continue;
      if (of(here).asked_by_ == 0) {
        take_out(here);
      } else {
        wait_a_moment(held_one);
        m = members_.first();  // any may have come or gone
      }
    }
  }

  /// From now on nobody asks the member. Waits for threads that are asking it.
  void pause(Member& m) noexcept {
    tarn::mutex& held_one = mutex();
    const held lock(held_one);
    ++of(m).paused_;
    while (of(m).asked_by_ != 0) wait_a_moment(held_one);
  }
  void resume(Member& m) noexcept {
    const held lock(mutex());
    --of(m).paused_;
  }

 private:
  /// What a thread asks now.
  struct asking {
    Member* member = nullptr;
    asking* next = nullptr;
    const thread_number thread = this_thread_number();
  };

  static asked_member<Member>& of(Member& m) noexcept { return m; }
  tarn::mutex& mutex() noexcept { return admits(act) ? mutex_ : mutex_of_forker<tarn::mutex>; }
  /// In the child, threads that asked are gone.
  static void act(fork_member& m, fork_step step) noexcept {
    auto& list = static_cast<asked_list&>(m);
    act_on_leaf(list.mutex_, step);
    if (step != fork_step::renew) return;
    for (asking** at = &list.asking_; *at != nullptr;) {
      asking& other = **at;
      if (other.thread == this_thread_number()) {
        at = &other.next;
      } else {
        if (other.member != nullptr) --of(*other.member).asked_by_;
        *at = other.next;
      }
    }
  }

  void begin(asking& now, asked_round& round) noexcept {
    const held lock(mutex());
    Member* m = members_.first();
    while (m != nullptr && (m->rank() < round.from || of(*m).paused_ != 0)) m = of(*m).links.after;
    round.ended = m == nullptr;
    if (m == nullptr) return;
    round.from = m->rank();
    ++of(*m).asked_by_;
    now.member = m;
    now.next = asking_;
    asking_ = &now;
  }
  void next(asking& now, asked_round& round) noexcept {
    const held lock(mutex());
    --of(*now.member).asked_by_;
    Member* m = of(*now.member).links.after;
    while (m != nullptr && of(*m).paused_ != 0) m = of(*m).links.after;
    if (m != nullptr && m->rank() == round.from) {
      ++of(*m).asked_by_;
      now.member = m;
      return;
    }
    round.ended = m == nullptr;
    if (m != nullptr) round.from = m->rank();
    now.member = nullptr;
    asking** at = &asking_;
    while (*at != &now) at = &(*at)->next;
    *at = now.next;
  }

  static void wait_a_moment(tarn::mutex& held_one) noexcept {
    held_one.unlock();
    sleep_microseconds(20);
    held_one.lock();
  }
  void take_out(Member& m) noexcept {
    members_.leave(m);
    --size_;
    of(m).forget_library();
    of(m).entered_.store(false, memory_order_release);
  }

  tarn::mutex mutex_;
  ranked_list<Member> members_;  // by ascending rank, then in the order they came
  std::size_t size_ = 0;
  asking* asking_ = nullptr;     // by other threads, and by those at whose stores they are
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_ASKED_LIST_H_

// ---- tarn/policies/detail/reclaim_member.h ----

// A pool that other pools can ask to trim (see reclaim_list.h): which thread may ask it when, and how it says that a thread is
// at its store. What a member does in the list is defined there.
#ifndef TARN_POLICIES_DETAIL_RECLAIM_MEMBER_H_
#define TARN_POLICIES_DETAIL_RECLAIM_MEMBER_H_

#include <cstddef>
#include <cstdint>

namespace tarn::detail {

/// What a pool that was asked gave back. `busy`: another thread is at its store.
struct trimmed {
  std::size_t bytes = 0;
  bool busy = false;
};

class reclaim_list;

/// A pool in the list. Constant-initialised, without a destructor, so that static pools have none: an owner that ends before
/// the process calls leave().
class reclaim_member : public asked_member<reclaim_member> {
 public:
  using handler = trimmed (*)(void* pool) noexcept;

  constexpr explicit reclaim_member(int priority) noexcept;

  /// Called before the pool gets its first chunk, or any other. `confined`: no lock keeps threads apart, so only the thread
  /// that was here last may ask the pool.
  void enter(void* pool, handler trim, bool confined) noexcept {
    if (confined) owner_.store(this_thread_number(), memory_order_relaxed);
    if (!has_entered()) [[unlikely]]
      enter_now(pool, trim);
  }
  /// Waits for threads that are asking the pool.
  void leave() noexcept;

  /// Nobody asks the pool, this thread included, until resume(): its owner looks through its blocks. Waits for threads that are
  /// asking it.
  void pause() noexcept;
  void resume() noexcept;

  /// Held while this thread is at the pool's store, together with the guard that tells other threads so.
  template <class Guard>
  class at_store {
   public:
    template <class Make>
    at_store(reclaim_member& m, Make make) : guard_(make()), member_(m), before_(m.visitor_.load(memory_order_relaxed)) {
      if (*this) member_.visitor_.store(this_thread_number(), memory_order_relaxed);
    }
    ~at_store() {
      if (*this) member_.visitor_.store(before_, memory_order_relaxed);
    }
    at_store(const at_store&) = delete;
    at_store& operator=(const at_store&) = delete;
    /// Whether the guard is held: an attempt to lock it may have failed.
    explicit operator bool() const noexcept { return is_held(guard_); }

   private:
    Guard guard_;
    reclaim_member& member_;
    std::uint64_t before_;
  };

 private:
  friend class reclaim_list;
  friend class asked_list<reclaim_member>;
  friend class ranked_list<reclaim_member>;
  int rank() const noexcept { return priority_; }
  TARN_ONE_IN_LIBRARY void enter_now(void* pool, handler trim) noexcept;
  /// Asks the pool, and retries for a moment if it is busy: perhaps another thread is asking it.
  trimmed ask() noexcept {
    const thread_number me = this_thread_number();
    const thread_number owner = owner_.load(memory_order_relaxed);
    if (visitor_.load(memory_order_relaxed) == me || (owner != 0 && owner != me)) return {};
    constexpr int patience = 100;
    for (int tries = 0;; ++tries) {
      const trimmed answer = trim_(pool_);
      if (!answer.busy || tries == patience) return answer;
      yield_thread();
    }
  }

  const int priority_;
  atomic_word<thread_number> owner_ = 0;    // if confined: the thread that was here last
  atomic_word<thread_number> visitor_ = 0;  // the thread that is at the store
  handler trim_ = nullptr;
  void* pool_ = nullptr;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_RECLAIM_MEMBER_H_

// ---- tarn/policies/detail/reclaim_list.h ----

// The pools of the process that can be asked to trim, because one of them ran out of memory, or the program wants memory back.
//
// A pool that another thread keeps busy is left alone after a moment, and so are pools at whose store this thread is.
#ifndef TARN_POLICIES_DETAIL_RECLAIM_LIST_H_
#define TARN_POLICIES_DETAIL_RECLAIM_LIST_H_

#include <cstddef>
#include <cstdlib>

namespace tarn::detail {

/// One walk through the list.
struct reclaim_round : asked_round {
  bool met_busy = false;  // since the last priority that gave something back
};

/// One for the process.
class reclaim_list : public asked_list<reclaim_member> {
 public:
  /// Asks the pools of the next priority. Returns how many bytes they gave back.
  std::size_t ask_next(reclaim_round& round) noexcept {
    std::size_t bytes = 0;
    asked_list::ask_next(round, [&](reclaim_member& m) {
      const trimmed answer = m.ask();
      bytes += answer.bytes;
      round.met_busy |= answer.busy;
    });
    return bytes;
  }
};

TARN_FOUND_IN_PROCESS inline constinit reclaim_list library_reclaimable;
inline reclaim_list& reclaimable_pools() noexcept { return one_in_process<library_reclaimable, 0x108>::get(); }
/// A template, so that only programs with such pools have it. Found at load: later a thread holds what the loader may wait for.
template <class>
[[maybe_unused]] static reclaim_list& reclaimable_at_load = reclaimable_pools();

TARN_ONE_IN_LIBRARY void begin_of_reclaim() noexcept;
TARN_ONE_IN_LIBRARY inline constinit asked_library library_reclaim{.at_first = begin_of_reclaim};
TARN_ONE_IN_LIBRARY inline void end_of_reclaim() noexcept {
  library_reclaim.now.store(asked_library::phase::over, memory_order_relaxed);
  reclaimable_pools().remove_library(library_reclaim);
}
TARN_ONE_IN_LIBRARY inline void begin_of_reclaim() noexcept { std::atexit(end_of_reclaim); }

// What a member does in the list.
constexpr reclaim_member::reclaim_member(int priority) noexcept : asked_member(library_reclaim), priority_(priority) {}
inline void reclaim_member::enter_now(void* pool, handler trim) noexcept {
  if (!begins(library_reclaim)) return;
  reclaimable_pools().add(*this, [=](reclaim_member& m) {
    m.pool_ = pool;
    m.trim_ = trim;
  });
}
inline void reclaim_member::leave() noexcept {
  if (has_entered()) reclaimable_pools().remove(*this);
}
inline void reclaim_member::pause() noexcept { reclaimable_pools().pause(*this); }
inline void reclaim_member::resume() noexcept { reclaimable_pools().resume(*this); }

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_RECLAIM_LIST_H_

// ---- tarn/policies/detail/replace.h ----

// std::exchange and std::swap for what is copied as easily as a pointer. <utility> would be a tenth of what pool.h brings, and
// looks up two traits of each type.
#ifndef TARN_POLICIES_DETAIL_REPLACE_H_
#define TARN_POLICIES_DETAIL_REPLACE_H_

#include <type_traits>

namespace tarn::detail {

/// Puts a value in a place. Returns what was there.
template <class T>
TARN_STEP constexpr T replace(T& place, std::type_identity_t<T> value) noexcept {
  const T old = place;
  place = value;
  return old;
}

/// Each place gets what was in the other. The places are found once.
template <class T>
TARN_STEP constexpr void swap_both(T& one, T& other) noexcept {
  const T was = one;
  one = other;
  other = was;
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_REPLACE_H_

// ---- tarn/policies/detail/span.h ----

// tarn::span: the objects that a call reads or fills. It is what std::span is, without <span>, which would be half of what
// pool.h brings. Whatever lends its objects to a std::span lends them to this one, and each converts to the other.
#ifndef TARN_POLICIES_DETAIL_SPAN_H_
#define TARN_POLICIES_DETAIL_SPAN_H_

#include <cstddef>
#include <type_traits>

namespace tarn {
namespace detail {

/// Whether objects of type U are objects of type T, perhaps of a more const one. A derived class is another type: it may be
/// larger.
template <class U, class T>
concept lies_as = std::is_convertible_v<U (*)[], T (*)[]>;

/// Whether a Range has objects for a span of T: what has data() and size(). One that is gone after the call lends what it only
/// refers to; its own, only to be read.
template <class Range, class T>
concept lends = requires(const Range& range) {  // Range is a reference for what stays, and then `const` says nothing
  static_cast<std::size_t>(range.size());
  requires lies_as<std::remove_reference_t<decltype(*range.data())>, T>;
};

/// What a pointer is, but no value that a span's elements may have: std::vector<void*>{all.begin(), all.end()} would take two
/// pointers for its elements.
template <class T>
class span_iterator {
 public:
  using value_type = std::remove_cv_t<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = T*;
  using reference = T&;

  constexpr span_iterator() noexcept = default;
  TARN_STEP constexpr explicit span_iterator(T* at) noexcept : at_(at) {}

  TARN_STEP constexpr T& operator*() const noexcept { return *at_; }
  TARN_STEP constexpr T* operator->() const noexcept { return at_; }
  TARN_STEP constexpr T& operator[](std::ptrdiff_t n) const noexcept { return at_[n]; }
  TARN_STEP constexpr span_iterator& operator++() noexcept { return *this += 1; }
  TARN_STEP constexpr span_iterator operator++(int) noexcept { return span_iterator(at_++); }
  TARN_STEP constexpr span_iterator& operator--() noexcept { return *this -= 1; }
  TARN_STEP constexpr span_iterator operator--(int) noexcept { return span_iterator(at_--); }
  TARN_STEP constexpr span_iterator& operator+=(std::ptrdiff_t n) noexcept {
    at_ += n;
    return *this;
  }
  TARN_STEP constexpr span_iterator& operator-=(std::ptrdiff_t n) noexcept { return *this += -n; }
  TARN_STEP friend constexpr span_iterator operator+(span_iterator a, std::ptrdiff_t n) noexcept { return a += n; }
  TARN_STEP friend constexpr span_iterator operator+(std::ptrdiff_t n, span_iterator a) noexcept { return a += n; }
  TARN_STEP friend constexpr span_iterator operator-(span_iterator a, std::ptrdiff_t n) noexcept { return a -= n; }
  TARN_STEP friend constexpr std::ptrdiff_t operator-(span_iterator a, span_iterator b) noexcept { return a.at_ - b.at_; }
  TARN_STEP friend constexpr bool operator==(span_iterator a, span_iterator b) noexcept { return a.at_ == b.at_; }
  TARN_STEP friend constexpr bool operator<(span_iterator a, span_iterator b) noexcept { return a.at_ < b.at_; }
  TARN_STEP friend constexpr bool operator>(span_iterator a, span_iterator b) noexcept { return b < a; }
  TARN_STEP friend constexpr bool operator<=(span_iterator a, span_iterator b) noexcept { return !(b < a); }
  TARN_STEP friend constexpr bool operator>=(span_iterator a, span_iterator b) noexcept { return !(a < b); }

 private:
  T* at_ = nullptr;
};

}  // namespace detail

/// Consecutive objects of somebody else: their address and their number, copied like a pointer.
/// \tparam T  the type of the objects; const if they are only read
template <class T>
class span {
 public:
  /// As of std::span. The iterator is a pointer, where that doesn't convert to an object.
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  static constexpr bool has_pointers = !std::is_convertible_v<T*, value_type>;
  using iterator = std::conditional_t<has_pointers, T*, detail::span_iterator<T>>;

  /// No objects; `size` objects from `data` on, or those from `first` to before `last`; those of an array, or of whatever has
  /// data() and size(). Throws: what these throw.
  constexpr span() noexcept = default;
  TARN_STEP constexpr span(T* data, std::size_t size) noexcept : data_(data), size_(size) {}
  template <detail::lies_as<T> U>
  TARN_STEP constexpr span(U* first, U* last) noexcept : data_(first), size_(static_cast<std::size_t>(last - first)) {}
  template <std::size_t N>
  TARN_STEP constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
  template <class Range>
    requires(!std::is_same_v<std::remove_cvref_t<Range>, span> && detail::lends<Range, T>)
  TARN_STEP constexpr span(Range&& range) noexcept(noexcept(range.data(), range.size()))
      : data_(range.data()), size_(static_cast<std::size_t>(range.size())) {}

  /// Returns a std::span of them, where that has no constructor for it: it takes every lasting range whose iterators are
  /// pointers, and others only to read.
  template <template <class, std::size_t> class Span>
    requires(!std::is_const_v<T> && has_pointers)
  TARN_STEP constexpr operator Span<T, static_cast<std::size_t>(-1)>() && noexcept {
    return {data_, size_};
  }
  template <template <class, std::size_t> class Span, class U>
    requires(detail::lies_as<T, U> && !has_pointers)
  TARN_STEP constexpr operator Span<U, static_cast<std::size_t>(-1)>() const noexcept {
    return {data_, size_};
  }

  /// Return the first object's address, the number of objects, whether there are none, and where they begin and end.
  TARN_STEP constexpr T* data() const noexcept { return data_; }
  TARN_STEP constexpr std::size_t size() const noexcept { return size_; }
  TARN_STEP constexpr bool empty() const noexcept { return size_ == 0; }
  TARN_STEP constexpr iterator begin() const noexcept { return iterator(data_); }
  TARN_STEP constexpr iterator end() const noexcept { return iterator(data_ + size_); }

  /// Return one object: number i, the first, the last.
  /// Precondition: it is there.
  TARN_STEP constexpr T& operator[](std::size_t i) const noexcept { return data_[i]; }
  TARN_STEP constexpr T& front() const noexcept { return data_[0]; }
  TARN_STEP constexpr T& back() const noexcept { return data_[size_ - 1]; }
  /// Return a part: the first n, the last n, all from a number on, n from there on.
  /// Precondition: they are there.
  TARN_STEP constexpr span first(std::size_t n) const noexcept { return {data_, n}; }
  TARN_STEP constexpr span last(std::size_t n) const noexcept { return {data_ + (size_ - n), n}; }
  TARN_STEP constexpr span subspan(std::size_t from) const noexcept { return {data_ + from, size_ - from}; }
  TARN_STEP constexpr span subspan(std::size_t from, std::size_t n) const noexcept { return {data_ + from, n}; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tarn

#endif  // TARN_POLICIES_DETAIL_SPAN_H_

// ---- tarn/policies/checking/call_site.h ----

// A line of the program that asks for a block, for reports.
#ifndef TARN_POLICIES_CHECKING_CALL_SITE_H_
#define TARN_POLICIES_CHECKING_CALL_SITE_H_

namespace tarn {

/// Like std::source_location, which clang 14 lacks, and which converts to it.
struct call_site {
  const char* file = nullptr;  // a string literal, or text that lives as long
  unsigned line = 0;           // of that file

  /// No line; a line of a file; that of a std::source_location, or whatever has its members.
  constexpr call_site() noexcept = default;
  constexpr call_site(const char* of_file, unsigned of_line) noexcept : file(of_file), line(of_line) {}
  template <class Location>
    requires requires(const Location& where) {
      where.file_name();
      where.line();
    }
  constexpr call_site(const Location& where) noexcept : file(where.file_name()), line(static_cast<unsigned>(where.line())) {}

  /// Returns the line that calls this; as a default argument, the line that calls the function.
  static constexpr call_site current(const char* file = TARN_CALLER_FILE, unsigned line = TARN_CALLER_LINE) noexcept {
    return {file, line};
  }
};

}  // namespace tarn

#endif  // TARN_POLICIES_CHECKING_CALL_SITE_H_

// ---- tarn/policies/name/pool_record.h ----

// What the registry tells of a pool.
#ifndef TARN_POLICIES_NAME_POOL_RECORD_H_
#define TARN_POLICIES_NAME_POOL_RECORD_H_

#include <cstddef>

namespace tarn {

/// A pool at one moment. The texts end with a null.
struct pool_record {
  char name[64] = {};             // the first 63 characters
  char policies[64] = {};         // how it locks, which free block is used next, where chunks come from: without parameters
  const void* address = nullptr;  // of the pool; it may have ended since
  call_site where;                // its declaration, if that is known; valid while the library is loaded that has it
  std::size_t block_size = 0;     // bytes
  std::size_t stride = 0;         // bytes from one block to the next
  std::size_t in_use = 0;         // blocks handed out and not given back
  std::size_t peak = 0;           // the most that were in use at once: never too low; how far too high: docs/registry.md
  std::size_t waiting = 0;        // free blocks in threads' magazines, or on the stack of lock_free
  std::size_t capacity = 0;       // blocks, free or in use
  std::size_t chunks = 0;         // that it holds
  std::size_t bytes_held = 0;     // in those chunks, as the store gave them
  std::size_t growths = 0;        // chunks that it ever got
  std::size_t refused = 0;        // requests for blocks that found none
  bool is_exact = false;          // whether the pool could be looked at. If not, it has no lock and belongs to another thread:
                                  // `in_use` is then the most that it can have been when it last grew or refilled its front
};

/// What became of a call of switch_checks().
struct switched_pools {
  std::size_t switched = 0;  // pools of the name, whose checks are now as they were to be
  std::size_t refused = 0;   // those whose checks can be switched on only at the start: no lock keeps their calls apart
};

}  // namespace tarn

#endif  // TARN_POLICIES_NAME_POOL_RECORD_H_

// ---- tarn/policies/detail/arithmetic.h ----

// Alignment arithmetic that can't overflow unnoticed.
#ifndef TARN_POLICIES_DETAIL_ARITHMETIC_H_
#define TARN_POLICIES_DETAIL_ARITHMETIC_H_

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tarn::detail {

inline constexpr std::size_t size_max = static_cast<std::size_t>(-1);

/// Sizes and alignments above this can't exist in an address space. Those up to it leave room for every sum made of them.
inline constexpr std::size_t size_limit = size_max / 8;

// Those of <algorithm> would cost every file with a pool 20,000 lines, and debug builds a function call each.
TARN_STEP constexpr std::size_t smaller(std::size_t a, std::size_t b) noexcept { return b < a ? b : a; }
TARN_STEP constexpr std::size_t larger(std::size_t a, std::size_t b) noexcept { return a < b ? b : a; }
/// `n`, or the bound that it exceeds. Precondition: low <= high.
TARN_STEP constexpr std::size_t clamped(std::size_t n, std::size_t low, std::size_t high) noexcept {
  return smaller(larger(n, low), high);
}

TARN_STEP constexpr bool is_power_of_two(std::size_t n) noexcept { return n != 0 && (n & (n - 1)) == 0; }

/// `n` rounded up to a multiple of `power`, a power of two. Precondition: both at most size_limit.
TARN_STEP constexpr std::size_t round_up(std::size_t n, std::size_t power) noexcept { return (n + power - 1) & ~(power - 1); }

/// The largest power of two that divides `n`; 1 for 0.
TARN_STEP constexpr std::size_t lowest_bit(std::size_t n) noexcept { return n == 0 ? 1 : n & (~n + 1); }

/// The alignment that an object of that many bytes can need: a power of two, at most that of std::max_align_t.
constexpr std::size_t natural_alignment(std::size_t bytes) noexcept {
  return smaller(lowest_bit(bytes), alignof(std::max_align_t));
}

/// a * b, or size_max if the product doesn't fit.
TARN_STEP constexpr std::size_t multiply(std::size_t a, std::size_t b) noexcept {
  return b != 0 && a > size_max / b ? size_max : a * b;
}

/// Whether n * unit > limit. Most factors are so small that it needs no division.
TARN_STEP constexpr bool exceeds(std::size_t n, std::size_t unit, std::size_t limit) noexcept {
  constexpr std::size_t half = std::size_t{1} << (sizeof(std::size_t) * 4);
  return ((n | unit) >= half || n * unit > limit) && n > limit / unit;
}

/// a + b, or size_max if the sum doesn't fit.
TARN_STEP constexpr std::size_t add(std::size_t a, std::size_t b) noexcept { return a > size_max - b ? size_max : a + b; }

/// n / Divisor, or size_max if that leaves a remainder, without a division: the inverse of the odd part undoes a
/// multiplication; what is larger than any quotient was no product.
template <std::size_t Divisor>
constexpr std::size_t exact_quotient(std::size_t n) noexcept {
  constexpr auto zeros = std::countr_zero(Divisor);
  constexpr std::size_t inverse = [](std::size_t odd) {
    std::size_t found = odd;  // three bits of it are right
    for (std::size_t bits = 3; bits < 8 * sizeof odd; bits *= 2) found *= 2 - odd * found;
    return found;
  }(Divisor >> zeros);
  const std::size_t quotient = std::rotr(n * inverse, zeros);
  return quotient <= size_max / Divisor ? quotient : size_max;
}

/// a / b. Slow, for reports, where the processor can't divide.
constexpr std::size_t quotient(std::size_t a, std::size_t b) noexcept {
  if constexpr (platform::has_division) return a / b;
  std::size_t n = 0;
  for (; a >= b; a -= b) ++n;
  return n;
}

TARN_STEP std::uintptr_t address_of(const void* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_ARITHMETIC_H_

// ---- tarn/policies/name/text_writer.h ----

// Text into a buffer, without memory, locks or the C library.
#ifndef TARN_POLICIES_NAME_TEXT_WRITER_H_
#define TARN_POLICIES_NAME_TEXT_WRITER_H_

#include <cstddef>
#include <cstdint>

namespace tarn::detail {

/// Writes what there is room for, and counts all.
class text_writer {
 public:
  explicit text_writer(span<char> out) noexcept : out_(out) {}

  std::size_t written() const noexcept { return at_; }
  void put(char c) noexcept {
    if (at_ < out_.size()) out_[at_] = c;
    ++at_;
  }
  void put(const char* text) noexcept {
    for (; *text != 0; ++text) put(*text);
  }
  void put_number(std::uintptr_t number, unsigned base = 10) noexcept {
    char digits[3 * sizeof number];
    std::size_t n = 0;
    do digits[n++] = "0123456789abcdef"[number % base];
    while ((number /= base) != 0);
    while (n != 0) put(digits[--n]);
  }
  void put_address(const void* p) noexcept {
    put("0x");
    put_number(address_of(p), 16);
  }
  /// Escapes as `escape(c)` says, which writes a character of ASCII, and replaces what isn't UTF-8: a name may be cut anywhere.
  template <class Escape>
  void put_text(const char* text, Escape escape) noexcept {
    while (*text != 0) {
      const std::size_t n = character(text);
      if (n == 0) {
        put("\xEF\xBF\xBD");  // U+FFFD
        ++text;
      } else if (n == 1) {
        escape(*text++);
      } else {
        for (std::size_t i = 0; i != n; ++i) put(*text++);
      }
    }
  }

 private:
  /// Bytes of the character of UTF-8 that the text begins with; 0: of none (RFC 3629, section 4).
  static std::size_t character(const char* text) noexcept {
    const auto at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto follows = [&at](std::size_t i) { return (at(i) & 0xC0) == 0x80; };
    const unsigned char first = at(0);
    if (first < 0x80) return 1;
    if (first < 0xC2 || first > 0xF4 || !follows(1)) return 0;
    if (first < 0xE0) return 2;
    const unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (at(1) < least || at(1) > most || !follows(2)) return 0;
    return first < 0xF0 ? 3 : follows(3) ? 4 : 0;
  }

  span<char> out_;
  std::size_t at_ = 0;
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_NAME_TEXT_WRITER_H_

// ---- tarn/policies/axis.h ----

// The ten axes of a pool. A policy names the axis it decides: `using axis = tarn::axis::store;`.
#ifndef TARN_POLICIES_AXIS_H_
#define TARN_POLICIES_AXIS_H_

#include <concepts>
#include <cstddef>

namespace tarn {

namespace axis {
struct size {};        // how large a block is
struct locking {};     // which threads may use the pool at once
struct growth {};      // how many blocks the next chunk holds
struct store {};       // where chunks come from and go back to
struct reuse {};       // which free block is handed out next
struct retention {};   // when an empty chunk goes back to the store
struct exhaustion {};  // what happens when no block can be had
struct checking {};    // which misuse is found
struct statistics {};  // what is counted
struct name {};        // what it is called, and whether it is in the registry
}  // namespace axis

namespace detail {
template <class T, class... Ts>
concept one_of = (std::same_as<T, Ts> || ...);

/// A trait promises a member, and a member needs its trait: without the trait it would be silently ignored.
template <bool Promised, bool There>
concept as_promised = Promised == There;

/// A policy declares its traits in one constant object, of the type of its axis.
template <class P, class Traits>
concept says = requires { requires std::same_as<decltype(P::traits), const Traits>; };

/// Names a template without instantiating it: `typename template_name<P::template source>`.
template <template <class> class>
struct template_name;
}  // namespace detail

/// A type that decides one axis.
template <class P>
concept policy = requires { typename P::axis; } &&
                 detail::one_of<typename P::axis, axis::size, axis::locking, axis::growth, axis::store, axis::reuse,
                                axis::retention, axis::exhaustion, axis::checking, axis::statistics, axis::name>;

/// A policy of the given axis.
template <class P, class Axis>
concept policy_on = policy<P> && std::same_as<typename P::axis, Axis>;

/// For a number that the policy derives from the block: an alignment, a first or largest number of blocks.
inline constexpr std::size_t natural = 0;

/// For a cap on the total number of blocks: no cap.
inline constexpr std::size_t unlimited = static_cast<std::size_t>(-1);

}  // namespace tarn

#endif  // TARN_POLICIES_AXIS_H_

// ---- tarn/policies/name/traits.h ----

// What policies of the axis name declare about themselves, each in one object, `traits`. A trait promises the member that its
// comment names; a member without its trait is refused.
#ifndef TARN_POLICIES_NAME_TRAITS_H_
#define TARN_POLICIES_NAME_TRAITS_H_

namespace tarn {

/// What a name policy declares about itself.
struct name_traits {
  bool is_listed = false;  // listing(): the pool's entry in the registry
};

/// A pool's entry in the registry.
struct pool_listing {
  const char* name = "";  // ends with a null; lives as long as the pool
  call_site where;        // the pool's declaration, if that is known
  bool has_size = false;  // the registry adds the block size, as in "orders/64": the pool is one of several of this name
};

}  // namespace tarn

#endif  // TARN_POLICIES_NAME_TRAITS_H_

// ---- tarn/policies/name/listed_pools.h ----

// The pools of the process that have a name. What a pool keeps for the list is all atomic: a pool without a lock may be asked
// by any thread, and answers with what it noted last.
#ifndef TARN_POLICIES_NAME_LISTED_POOLS_H_
#define TARN_POLICIES_NAME_LISTED_POOLS_H_

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace tarn::detail {

class listed_pool;

/// Where the blocks of a pool lie in its chunks, for debuggers: they read it from memory, whatever the pool's type is.
struct listed_shape {
  std::size_t block_size = 0;  // bytes
  std::size_t stride = 0;      // from one block to the next
  std::size_t offset = 0;      // from a slot to its block
  std::size_t words = 0;       // pointers that a free block holds
  std::size_t run = 0;         // blocks after which the next is a cache line further; 0: none is
};

/// What the machinery of every listed pool is made from, whatever its name policy is.
struct listed {
  static constexpr name_traits traits{.is_listed = true};
  using state = listed_pool;
  pool_listing its;
};

/// The name of a static pool that was given none: that of its tag.
struct name_of_tag {
  using axis = tarn::axis::name;
  static constexpr name_traits traits{.is_listed = true};
  constexpr pool_listing listing() const noexcept { return {text, {}}; }
  const char* text = "";
};
/// The name of a pool of one class, among those that a product with this name has.
struct name_of_class {
  using axis = tarn::axis::name;
  static constexpr name_traits traits{.is_listed = true};
  constexpr pool_listing listing() const noexcept { return its; }
  pool_listing its;
};

/// A listed pool's state of the axis name.
class listed_pool : public asked_member<listed_pool> {
 public:
  /// What the registry calls. `switch_checks` is null, or switches checks on or off and returns whether it could.
  struct calls {
    void (*tell)(const void* pool, pool_record& out) noexcept;  // writes what can be seen of the pool under its core guard
    bool (*switch_checks)(void* pool, bool on, bool is_owner) noexcept;
    listed_shape (*shape)(const void* pool) noexcept;
  };

  constexpr explicit listed_pool(const listed& policy) noexcept;

  /// Called with nothing held when the pool is made, and before it gets a chunk. `confined`: no lock keeps threads apart, so
  /// only the thread that was here last may look into the pool.
  void enter(void* pool, const calls& its, bool confined) noexcept {
    if (confined) owner_.store(this_thread_number(), memory_order_relaxed);
    if (!has_entered()) [[unlikely]]
      enter_now(pool, its);
  }
  /// Waits for threads that are looking at the pool.
  void leave() noexcept;
  /// Nobody looks at the pool until resume().
  void pause() noexcept;
  void resume() noexcept;

  // Called under the core guard.
  void on_chunk(std::size_t bytes, std::size_t capacity) noexcept {
    change(chunks_, 1);
    change(growths_, 1);
    off_chunk_bytes(bytes, capacity);
  }
  void off_chunk(std::size_t bytes, std::size_t capacity) noexcept {
    change(chunks_, static_cast<std::size_t>(-1));
    off_chunk_bytes(std::size_t{0} - bytes, capacity);
  }
  /// So many blocks can be in use now: those that the list hasn't behind its front.
  void on_outside(std::size_t blocks) noexcept {
    outside_.store(blocks, memory_order_relaxed);
    if (blocks > peak_.load(memory_order_relaxed)) peak_.store(blocks, memory_order_relaxed);
  }
  /// Called with anything held.
  void on_refusal() noexcept { refused_.fetch_add(1, memory_order_relaxed); }

  /// Called by the list.
  void tell(pool_record& out) const noexcept {
    out.where = its_.where;
    out.address = pool_;
    out.in_use = outside_.load(memory_order_relaxed);
    out.peak = peak_.load(memory_order_relaxed);
    out.capacity = capacity_.load(memory_order_relaxed);
    out.chunks = chunks_.load(memory_order_relaxed);
    out.bytes_held = bytes_.load(memory_order_relaxed);
    out.growths = growths_.load(memory_order_relaxed);
    out.refused = refused_.load(memory_order_relaxed);
    out.is_exact = is_owner();
    calls_->tell(pool_, out);
    text_writer name(span<char>(out.name, sizeof out.name - 1));
    name.put(its_.name);
    if (its_.has_size) name.put('/'), name.put_number(out.block_size);
  }
  const char* name() const noexcept { return its_.name; }
  bool has_switch() const noexcept { return calls_->switch_checks != nullptr; }
  bool switch_checks(bool on) const noexcept { return calls_->switch_checks(pool_, on, is_owner()); }

 private:
  friend class ranked_list<listed_pool>;
  friend class asked_list<listed_pool>;
  static constexpr int rank() noexcept { return 0; }  // so that to enter and to leave is O(1)

  /// Whether the pool has a lock, or belongs to this thread.
  bool is_owner() const noexcept {
    const thread_number owner = owner_.load(memory_order_relaxed);
    return owner == 0 || owner == this_thread_number();
  }
  TARN_ONE_IN_LIBRARY void enter_now(void* pool, const calls& its) noexcept;
  void off_chunk_bytes(std::size_t bytes, std::size_t capacity) noexcept {
    change(bytes_, bytes);
    capacity_.store(capacity, memory_order_relaxed);
  }
  static void change(atomic_word<std::size_t>& number, std::size_t by) noexcept {
    number.store(number.load(memory_order_relaxed) + by, memory_order_relaxed);
  }

  pool_listing its_;
  void* pool_ = nullptr;
  const calls* calls_ = nullptr;
  listed_shape shape_;
  atomic_word<thread_number> owner_ = 0;  // if confined
  atomic_word<std::size_t> outside_ = 0;
  atomic_word<std::size_t> peak_ = 0;
  atomic_word<std::size_t> capacity_ = 0;
  atomic_word<std::size_t> chunks_ = 0;
  atomic_word<std::size_t> bytes_ = 0;
  atomic_word<std::size_t> growths_ = 0;
  atomic_word<std::size_t> refused_ = 0;
};

/// One for the process.
class listed_pools : public asked_list<listed_pool> {
 public:
  /// Writes a record for each pool, as many as there is room for. Returns how many pools there are.
  std::size_t fill(pool_record* out, std::size_t room) noexcept {
    std::size_t n = 0;
    for (asked_round round; !round.ended;)
      ask_next(round, [&](const listed_pool& one) {
        if (n < room) one.tell(out[n]);
        ++n;
      });
    return n;
  }
  /// Switches the checks of the pools of that name, where they can be switched.
  switched_pools switch_checks(span<const char> name, bool on) noexcept {
    switched_pools result;
    for (asked_round round; !round.ended;)
      ask_next(round, [&](const listed_pool& one) {
        const bool is_meant =
            std::strlen(one.name()) == name.size() && std::memcmp(one.name(), name.data(), name.size()) == 0;
        if (!is_meant || !one.has_switch()) return;
        ++(one.switch_checks(on) ? result.switched : result.refused);
      });
    return result;
  }
};

TARN_FOUND_IN_PROCESS inline constinit listed_pools library_pools;
inline listed_pools& pools_of_process() noexcept { return one_in_process<library_pools, 0x107>::get(); }
/// Found at load: later a thread holds what the loader may wait for. A template, so that only programs with such pools have it.
struct TARN_ONE_IN_LIBRARY early_listing {
  TARN_STEP early_listing() noexcept { pools_of_process(); }
};
template <class>
TARN_FIRST_AT_LOAD static const early_listing listed_at_load;

TARN_ONE_IN_LIBRARY void begin_of_listing() noexcept;
TARN_ONE_IN_LIBRARY inline constinit asked_library library_listing{.at_first = begin_of_listing};
TARN_ONE_IN_LIBRARY inline void end_of_listing() noexcept {
  library_listing.now.store(asked_library::phase::over, memory_order_relaxed);
  pools_of_process().remove_library(library_listing);
}
TARN_ONE_IN_LIBRARY inline void begin_of_listing() noexcept { std::atexit(end_of_listing); }

constexpr listed_pool::listed_pool(const listed& policy) noexcept : asked_member(library_listing), its_(policy.its) {}
inline void listed_pool::enter_now(void* pool, const calls& its) noexcept {
  if (!begins(library_listing)) return;
  pools_of_process().add(*this, [pool, &its](listed_pool& one) {
    one.pool_ = pool;
    one.calls_ = &its;
    one.shape_ = its.shape(pool);
  });
}
inline void listed_pool::leave() noexcept {
  if (has_entered()) pools_of_process().remove(*this);
}
inline void listed_pool::pause() noexcept { pools_of_process().pause(*this); }
inline void listed_pool::resume() noexcept { pools_of_process().resume(*this); }

}  // namespace tarn::detail

#endif  // TARN_POLICIES_NAME_LISTED_POOLS_H_

// ---- tarn/policies/name/record_text.h ----

// Pool records as text: JSON, what Prometheus and OpenMetrics read, and the columns of Linux' slabinfo. Written into a buffer
// without memory, locks or the C library, so that a signal handler may do it.
#ifndef TARN_POLICIES_NAME_RECORD_TEXT_H_
#define TARN_POLICIES_NAME_RECORD_TEXT_H_

#include <cstddef>

namespace tarn::detail {

// ---- JSON ------------------------------------------------------------------------------------------------------------------

inline void put_json_text(text_writer& to, const char* text) noexcept {
  to.put('"');
  to.put_text(text, [&](char c) {
    if (c == '"' || c == '\\') to.put('\\'), to.put(c);
    else if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) to.put(c);
    else to.put("\\u00"), to.put("0123456789abcdef"[c / 16]), to.put("0123456789abcdef"[c % 16]);
  });
  to.put('"');
}
inline void put_json(text_writer& to, const pool_record& r) noexcept {
  to.put("{\"name\":");
  put_json_text(to, r.name);
  to.put(",\"policies\":");
  put_json_text(to, r.policies);
  to.put(",\"address\":\"");
  to.put_address(r.address);
  to.put('"');
  if (r.where.file != nullptr) {
    to.put(",\"file\":");
    put_json_text(to, r.where.file);
    to.put(",\"line\":");
    to.put_number(r.where.line);
  }
  const auto number = [&to](const char* name, std::size_t value) {
    to.put(",\"");
    to.put(name);
    to.put("\":");
    to.put_number(value);
  };
  number("block_size", r.block_size);
  number("stride", r.stride);
  number("in_use", r.in_use);
  number("peak", r.peak);
  number("waiting", r.waiting);
  number("capacity", r.capacity);
  number("chunks", r.chunks);
  number("bytes_held", r.bytes_held);
  number("growths", r.growths);
  number("refused", r.refused);
  to.put(",\"is_exact\":");
  to.put(r.is_exact ? "true}" : "false}");
}
inline std::size_t write_json(span<const pool_record> records, span<char> out) noexcept {
  text_writer to(out);
  to.put("{\"version\":1,\"pools\":[");
  for (std::size_t i = 0; i != records.size(); ++i) {
    to.put(i == 0 ? "\n" : ",\n");
    put_json(to, records[i]);
  }
  to.put("\n]}\n");
  return to.written();
}

// ---- Prometheus ------------------------------------------------------------------------------------------------------------

struct pool_metric {
  const char* name;
  bool is_counter;
  const char* help;
  std::size_t pool_record::*value;
};
inline constexpr pool_metric pool_metrics[] = {
    {"tarn_pool_blocks_in_use", false, "Blocks handed out and not given back.", &pool_record::in_use},
    {"tarn_pool_blocks_peak", false, "The most blocks in use at once.", &pool_record::peak},
    {"tarn_pool_blocks_waiting", false, "Free blocks that wait in threads.", &pool_record::waiting},
    {"tarn_pool_blocks_capacity", false, "Blocks, free or in use.", &pool_record::capacity},
    {"tarn_pool_block_size_bytes", false, "Size of a block.", &pool_record::block_size},
    {"tarn_pool_block_stride_bytes", false, "From one block to the next.", &pool_record::stride},
    {"tarn_pool_chunks", false, "Chunks held.", &pool_record::chunks},
    {"tarn_pool_held_bytes", false, "Bytes of the chunks held.", &pool_record::bytes_held},
    {"tarn_pool_growths", true, "Chunks ever got.", &pool_record::growths},
    {"tarn_pool_refused", true, "Requests for blocks that found none.", &pool_record::refused},
};

/// \param open_metrics  as OpenMetrics 1.0 wants it; else as Prometheus' text format 0.0.4
inline std::size_t write_prometheus(span<const pool_record> records, span<char> out, bool open_metrics) noexcept {
  text_writer to(out);
  const auto put_name = [&](const pool_metric& m, bool of_sample) {
    to.put(m.name);
    if (m.is_counter && (of_sample || !open_metrics)) to.put("_total");
  };
  const auto put_label = [&](const char* text) {
    to.put_text(text, [&](char c) {
      if (c == '\n') to.put("\\n");
      else if (c == '"' || c == '\\') to.put('\\'), to.put(c);
      else to.put(c);
    });
  };
  for (const pool_metric& m : pool_metrics) {
    to.put("# HELP ");
    put_name(m, false);
    to.put(' ');
    to.put(m.help);
    to.put("\n# TYPE ");
    put_name(m, false);
    to.put(m.is_counter ? " counter\n" : " gauge\n");
    for (const pool_record& r : records) {
      put_name(m, true);
      to.put("{pool=\"");
      put_label(r.name);
      to.put("\",id=\"");
      to.put_address(r.address);
      to.put("\"} ");
      to.put_number(r.*m.value);
      to.put('\n');
    }
  }
  if (open_metrics) to.put("# EOF\n");
  return to.written();
}

// ---- slabinfo --------------------------------------------------------------------------------------------------------------

/// The columns of Linux' /proc/slabinfo, version 2.1. A chunk is a slab; of chunks of several sizes, the average.
inline std::size_t write_slabinfo(span<const pool_record> records, span<char> out) noexcept {
  constexpr std::size_t page = 4096;
  text_writer to(out);
  to.put(
      "slabinfo - version: 2.1\n"
      "# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> "
      "<sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n");
  for (const pool_record& r : records) {
    to.put_text(r.name, [&](char c) { to.put(static_cast<unsigned char>(c) <= ' ' ? '_' : c); });
    const std::size_t slabs = larger(r.chunks, 1);
    const std::size_t columns[] = {r.in_use, r.capacity, r.stride, r.capacity / slabs,
                                   (r.bytes_held / slabs + page - 1) / page};
    for (const std::size_t value : columns) {
      to.put(' ');
      to.put_number(value);
    }
    to.put(" : tunables 0 0 0 : slabdata ");
    to.put_number(r.chunks);
    to.put(' ');
    to.put_number(r.chunks);
    to.put(" 0\n");
  }
  return to.written();
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_NAME_RECORD_TEXT_H_

// ---- tarn/allocator/registry.h ----

// The registry: the pools of the process that have a name, and those that can be asked for memory.
//
//   tarn::pool<tarn::size_of<Order>, tarn::named<"orders">> orders;
//   for (const tarn::pool_record& pool : tarn::snapshot()) std::printf("%s: %zu blocks\n", pool.name, pool.in_use);
//   std::string text = tarn::to_json(tarn::snapshot());
//   std::size_t bytes = tarn::reclaim_all();
//
// A pool with a name is in the registry from its construction on; one that is a constant, as static pools are, from its first
// chunk on. Those whose exhaustion policy is reclaim_and_retry can be asked for memory from their first chunk on. Either ends
// with the pool; for pools of classes and static pools, with the process or their library.
#ifndef TARN_ALLOCATOR_REGISTRY_H_
#define TARN_ALLOCATOR_REGISTRY_H_

#include <cstddef>
#include <cstring>
#include <string>

namespace tarn {

// ---- what there is -------------------------------------------------------------------------------------------------------

/// Writes a record for each pool with a name into `out`, as many as it has room for, in the order in which they came. Returns
/// how many pools there are. Each record is of one moment, which the pool's lock keeps; the moments follow one another. Pools
/// may come, go and be used meanwhile: no thread waits but those that need the lock of the pool that is looked at. A pool
/// that ends, or whose owner walks through its blocks, isn't in it. Allocates nothing. May be called wherever a lock may be
/// taken: not in a signal handler. O(pools), and for each O(blocks in the list's front, and free blocks under lifo_reuse or
/// lock_free).
inline std::size_t snapshot(span<pool_record> out) noexcept {
  return detail::pools_of_process().fill(out.data(), out.size());
}

/// The records that a snapshot took: a range of pool_record. It can be moved.
class pool_snapshot {
 public:
  /// Takes the records of another, which is then empty. The assignment returns *this.
  pool_snapshot(pool_snapshot&& other) noexcept
      : records_(detail::replace(other.records_, nullptr)), size_(detail::replace(other.size_, std::size_t{0})) {}
  pool_snapshot& operator=(pool_snapshot&& other) noexcept {
    pool_snapshot taken(static_cast<pool_snapshot&&>(other));
    detail::swap_both(records_, taken.records_);
    detail::swap_both(size_, taken.size_);
    return *this;
  }
  ~pool_snapshot() { delete[] records_; }

  /// Return pointers to the first record, and past the last: iterators.
  const pool_record* begin() const noexcept { return records_; }
  const pool_record* end() const noexcept { return records_ + size_; }
  /// Return the records as an array, how many they are, and whether there is none.
  const pool_record* data() const noexcept { return records_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  /// Returns record `i`. Precondition: i < size().
  const pool_record& operator[](std::size_t i) const noexcept { return records_[i]; }

 private:
  friend pool_snapshot snapshot();
  pool_snapshot() noexcept = default;

  pool_record* records_ = nullptr;
  std::size_t size_ = 0;
};

/// Returns a record for each pool with a name: as snapshot(out) writes them.
/// Throws: std::bad_alloc.
[[nodiscard]] inline pool_snapshot snapshot() {
  for (std::size_t room = detail::pools_of_process().size();; room += room / 4) {
    room += 8;  // some may come meanwhile
    pool_snapshot all;
    all.records_ = new pool_record[room];
    all.size_ = snapshot(span<pool_record>(all.records_, room));
    if (all.size_ <= room) return all;
    all.size_ = 0;
  }
}

// ---- as text -------------------------------------------------------------------------------------------------------------
// Those with a buffer allocate nothing and take no lock: they may be called in a signal handler.

/// Writes JSON into `out`, as much as there is room for, without a null at its end:
/// {"version":1,"pools":[{"name":"orders",...},...]}. The names are those of pool_record's members. Returns how many characters
/// the whole text has. O(records).
inline std::size_t to_json(span<const pool_record> records, span<char> out) noexcept {
  return detail::write_json(records, out);
}
/// The same in the text format of Prometheus, version 0.0.4.
inline std::size_t to_prometheus(span<const pool_record> records, span<char> out) noexcept {
  return detail::write_prometheus(records, out, false);
}
/// The same in the text format of OpenMetrics, version 1.0.
inline std::size_t to_open_metrics(span<const pool_record> records, span<char> out) noexcept {
  return detail::write_prometheus(records, out, true);
}
/// The same in the columns of Linux' /proc/slabinfo, version 2.1: a chunk is a slab.
inline std::size_t to_slabinfo(span<const pool_record> records, span<char> out) noexcept {
  return detail::write_slabinfo(records, out);
}

namespace detail {
template <class Write>
std::string as_text(span<const pool_record> records, Write write) {
  std::string text(write(records, span<char>()), '\0');
  write(records, span<char>(text.data(), text.size()));
  return text;
}
}  // namespace detail

/// Returns the records as JSON.
/// Throws: std::bad_alloc.
inline std::string to_json(span<const pool_record> records) { return detail::as_text(records, detail::write_json); }
/// Returns the records in the text format of Prometheus.
/// Throws: std::bad_alloc.
inline std::string to_prometheus(span<const pool_record> records) {
  return detail::as_text(records, [](span<const pool_record> all, span<char> out) { return to_prometheus(all, out); });
}
/// Returns the records in the text format of OpenMetrics.
/// Throws: std::bad_alloc.
inline std::string to_open_metrics(span<const pool_record> records) {
  return detail::as_text(records, [](span<const pool_record> all, span<char> out) { return to_open_metrics(all, out); });
}
/// Returns the records in the columns of Linux' /proc/slabinfo.
/// Throws: std::bad_alloc.
inline std::string to_slabinfo(span<const pool_record> records) { return detail::as_text(records, detail::write_slabinfo); }

// ---- checks --------------------------------------------------------------------------------------------------------------

/// Switches the checks of the pools of that name on or off, where their checking policy is switchable_checking. Those of pools
/// without a lock, of thread_cached and of lock_free can be switched on only by TARN_CHECK, before the program starts; but the
/// thread that used a pool without a lock last may do it. Returns how many pools that were, and how many refused: both 0 where
/// no pool of the name has such checks. May be called wherever a lock may be taken. O(pools), and O(chunks) of those.
inline switched_pools switch_checks(const char* name, bool on) noexcept {
  return detail::pools_of_process().switch_checks(span<const char>(name, std::strlen(name)), on);
}

// ---- memory back ---------------------------------------------------------------------------------------------------------

/// Asks every registered pool to trim, those of a low priority first. Returns the bytes that went back to their stores. It
/// waits for no pool: it skips one whose store another thread is calling, and one without a lock that another thread used last.
/// It may be called from anywhere, also by several threads at once; stores and locking policies run with nothing else held.
inline std::size_t reclaim_all() noexcept {
  std::size_t bytes = 0;
  for (detail::reclaim_round round; !round.ended;) bytes += detail::reclaimable_pools().ask_next(round);
  return bytes;
}

}  // namespace tarn

#endif  // TARN_ALLOCATOR_REGISTRY_H_

// ---- tarn/allocator/observe.h, continued ----

namespace tarn {

namespace detail {

/// Text of a length that is known once it is written: write(span) returns it.
template <class Write>
observed_answer answer_of(Write write) noexcept {
  static constexpr char no_memory[] = "error: no memory for the answer\n";
  const std::size_t bytes = write(span<char>());
  char* const text = ::new (std::nothrow) char[bytes + 1];
  if (text == nullptr) return {no_memory, sizeof no_memory - 1, false};
  write(span<char>(text, bytes));
  return {text, bytes, true};
}
template <class... Parts>
observed_answer line_of(const Parts&... parts) noexcept {
  return answer_of([&](span<char> out) {
    text_writer to(out);
    (to.put(parts), ...);
    to.put('\n');
    return to.written();
  });
}

/// The pools, as write(records, out) writes them.
inline observed_answer answer_pools(std::size_t (*write)(span<const pool_record>, span<char>) noexcept) noexcept {
  for (std::size_t room = pools_of_process().size();; room += room / 4) {
    room += 8;  // some may come meanwhile
    pool_record* const records = ::new (std::nothrow) pool_record[room];
    if (records == nullptr) return line_of("error: no memory for the pools");
    const std::size_t pools = snapshot(span<pool_record>(records, room));
    observed_answer answer;
    if (pools <= room) {
      const span<const pool_record> all(records, pools);
      answer = answer_of([&](span<char> out) { return write(all, out); });
    }
    delete[] records;
    if (pools <= room) return answer;
  }
}

/// What a client said, in a line that says why it is wrong: what isn't text is shown as '?'.
inline observed_answer refusal(const char* before, std::string_view said, const char* after) noexcept {
  return answer_of([&](span<char> out) {
    text_writer to(out);
    to.put("error: ");
    to.put(before);
    for (const char c : said) to.put(c < ' ' || c > '~' ? '?' : c);
    to.put(after);
    to.put('\n');
    return to.written();
  });
}

inline observed_answer answer_check(std::string_view words) noexcept {
  const bool is_on = words.starts_with("on ");
  if (!is_on && !words.starts_with("off ")) return line_of("error: write 'check on NAME' or 'check off NAME'");
  const std::string_view name = words.substr(is_on ? 3 : 4);
  const switched_pools done = pools_of_process().switch_checks(span<const char>(name.data(), name.size()), is_on);
  if (done.refused != 0) return refusal("only TARN_CHECK, at the start, switches the checks on in a pool called ", name, "");
  if (done.switched != 0) return line_of("done");
  return refusal("no pool with switchable checks is called ", name, "");
}

inline observed_answer answer_request(const char* text, std::size_t bytes) noexcept {
  std::string_view said(text, bytes);
  if (said.ends_with('\r')) said.remove_suffix(1);
  if (said == "json") return answer_pools(to_json);
  if (said == "prometheus") return answer_pools(to_prometheus);
  if (said == "openmetrics") return answer_pools(to_open_metrics);
  if (said == "slab") return answer_pools(to_slabinfo);
  if (said == "trim") {
    const std::size_t freed = reclaim_all();
    return answer_of([freed](span<char> out) {
      text_writer to(out);
      to.put_number(freed);
      to.put('\n');
      return to.written();
    });
  }
  if (said.starts_with("check ")) return answer_check(said.substr(6));
  if (said == "help")
    return line_of(
        "json               the pools that have a name, as JSON\n"
        "prometheus         the same in the text format of Prometheus\n"
        "openmetrics        the same in that of OpenMetrics\n"
        "slab               the same in the columns of /proc/slabinfo\n"
        "trim               pools give back what they don't use; answers how many bytes\n"
        "check on NAME      switches the checks of pools with this name on; off: off\n"
        "help               this");
  return refusal("'", said, "' is no request; 'help' lists them");
}

/// What an observer owns. It stays where it is.
struct observed_place {
  platform::local_socket socket;
  observed_clients clients;
  long process = platform::local_socket::process();

  bool is_owner() const noexcept { return process == platform::local_socket::process(); }
};

[[noreturn]] TARN_COLD inline void throw_observe_error([[maybe_unused]] int error, [[maybe_unused]] std::string_view path) {
#if TARN_EXCEPTIONS
  const std::error_code code(error, std::generic_category());
  std::string said = "tarn: observe can't answer at";
  said.append(" ").append(path);
  if (code == std::errc::address_in_use) said += ": another program answers there";
  if (code == std::errc::file_exists) said += ": this is a file, and no socket";
  if (code == std::errc::filename_too_long)
    said += ": a socket's path has at most " + std::to_string(platform::local_socket::longest_path) + " bytes";
  throw std::system_error(code, said);
#else
  std::abort();
#endif
}

}  // namespace detail

/// Answers at a socket as long as it lives. Belongs to one thread at a time; it can be moved. In the child of a fork it answers
/// nobody, and its end leaves the parent's alone.
class observer {
 public:
  /// Takes the other's socket; the other answers nobody then. The assignment returns *this.
  observer(observer&& other) noexcept : its_(detail::replace(other.its_, nullptr)) {}
  observer& operator=(observer&& other) noexcept {
    observer taken(static_cast<observer&&>(other));
    detail::swap_both(its_, taken.its_);
    return *this;
  }
  /// Ends all connections, and takes the path away if it is still the socket's.
  ~observer() {
    if (its_ == nullptr) return;
    const platform::same_errno same;
    const bool is_owner = its_->is_owner();
    its_->clients.close(is_owner);
    its_->socket.close(is_owner);
    delete its_;
  }

  /// Returns a descriptor for poll(), select() or epoll: it is readable when serve() has something to do. Nothing else may be
  /// done with it. Where the system has no epoll, that is so for new clients only: call serve() in between, too. -1: it was
  /// moved from.
  int descriptor() const noexcept { return its_ != nullptr ? its_->clients.descriptor() : -1; }

  /// Answers what was asked so far, and waits for no client. One that does nothing for ten seconds is sent away, or for half a
  /// second while there are 32. Returns how many requests it answered. O(pools) for each, as snapshot().
  std::size_t serve() noexcept {
    if (its_ == nullptr || !its_->is_owner()) return 0;
    const platform::same_errno same;
    return its_->clients.serve(platform::system::nanoseconds(), detail::answer_request);
  }

 private:
  friend observer observe(std::string_view path);
  friend class observing_thread;
  explicit observer(detail::observed_place* its) noexcept : its_(its) {}

  detail::observed_place* its_ = nullptr;
};

/// Answers at a socket with this path, which only the process's user can use (mode 0600). A socket that a process left there
/// when it crashed is replaced; one at which somebody answers isn't, nor is any other file. Returns what answers: it stops when
/// that ends. A relative path is looked for again at its end: the folder of the process must then be the same.
/// Throws: std::system_error, whose text names the path; std::bad_alloc. A build without exceptions aborts.
[[nodiscard("tarn: it answers as long as this lives")]] inline observer observe(std::string_view path) {
  auto* const its = new detail::observed_place;
  int error = its->socket.listen(path.data(), path.size());
  if (error == 0) {
    error = its->clients.open(its->socket);
    if (error != 0) its->clients.close(true), its->socket.close(true);
  }
  if (error == 0) return observer(its);
  delete its;
  detail::throw_observe_error(error, path);
}

}  // namespace tarn

#else
#endif

#endif  // TARN_ALLOCATOR_OBSERVE_H_

// ---- tarn/policies/platform/standard_threads.h ----

// Whether the standard library has std::mutex and std::thread: not on bare metal, nor in g++'s for Windows with win32 threads.
#ifndef TARN_POLICIES_PLATFORM_STANDARD_THREADS_H_
#define TARN_POLICIES_PLATFORM_STANDARD_THREADS_H_

#include <cstddef>  // says which standard library it is

#if defined(__GLIBCXX__)
#if defined(_GLIBCXX_HAS_GTHREADS)
#define TARN_STANDARD_THREADS 1
#endif
#elif defined(_LIBCPP_VERSION)
#if !defined(_LIBCPP_HAS_NO_THREADS) && (!defined(_LIBCPP_HAS_THREADS) || _LIBCPP_HAS_THREADS)
#define TARN_STANDARD_THREADS 1
#endif
#else
#define TARN_STANDARD_THREADS 1
#endif

#endif  // TARN_POLICIES_PLATFORM_STANDARD_THREADS_H_

// ---- tarn/allocator/observing_thread.h ----

// A thread that answers what other programs ask about the pools of this one:
//
//   tarn::observing_thread watched("/run/user/1000/service.sock");
//
// observe.h has what a program calls itself, without a thread.
#ifndef TARN_ALLOCATOR_OBSERVING_THREAD_H_
#define TARN_ALLOCATOR_OBSERVING_THREAD_H_

#if defined(TARN_HAS_LOCAL_SOCKETS) && defined(TARN_STANDARD_THREADS)

#include <new>
#include <string_view>
#include <thread>

namespace tarn {

/// A thread that serves an observer until this ends. In the child of a fork there is no such thread: this can end there, and
/// nothing else happens.
class observing_thread {
 public:
  /// Serves what observe(path) returns.
  /// Throws: std::system_error, std::bad_alloc, as observe(), and if the system gives no thread.
  explicit observing_thread(std::string_view path) : observing_thread(observe(path)) {}
  /// Serves an observer. Precondition: it wasn't moved from.
  /// Throws: std::system_error, if the system gives no thread.
  explicit observing_thread(observer watched) : watched_(static_cast<observer&&>(watched)) {
    if (const int error = socket::make_pair(bell_); error != 0) detail::throw_observe_error(error, "a thread");
    both_ends guard(*this);
    ::new (static_cast<void*>(&thread_)) std::thread([this]() noexcept { run(); });
    guard.its = nullptr;
  }
  observing_thread(const observing_thread&) = delete;
  observing_thread& operator=(const observing_thread&) = delete;
  /// Waits for the answer that the thread is at, but for no client.
  ~observing_thread() {
    if (watched_.its_->is_owner()) {
      stops_.store(true, detail::memory_order_relaxed);
      socket::shut(bell_[1]);
      thread_.join();
      thread_.~thread();
    }
    close_bell();
  }

 private:
  using socket = platform::local_socket;
  struct both_ends {  // closed if there is no thread
    explicit both_ends(observing_thread& thread) noexcept : its(&thread) {}
    ~both_ends() {
      if (its != nullptr) its->close_bell();
    }
    both_ends(const both_ends&) = delete;
    both_ends& operator=(const both_ends&) = delete;

    observing_thread* its;
  };

  void run() noexcept {
    while (!stops_.load(detail::memory_order_relaxed)) {
      watched_.serve();
      // Clients that do nothing are looked at now and then; without a set of descriptors, the others are, too.
      const int period = platform::watched_set::is_whole ? 1000 : 20;
      socket::wait(watched_.descriptor(), bell_[0], watched_.its_->clients.size() != 0 ? period : -1);
    }
  }
  void close_bell() noexcept {
    for (const int end : bell_) socket::close(end);
  }

  observer watched_;
  int bell_[2];  // rings when the thread shall end
  detail::atomic_word<bool> stops_ = false;
  union {
    std::thread thread_;  // not ended in the child of a fork, where nobody can join it
  };
};

}  // namespace tarn

#elif defined(TARN_HAS_LOCAL_SOCKETS)
#endif

#endif  // TARN_ALLOCATOR_OBSERVING_THREAD_H_

#endif  // TARN_VERSION_H_

#endif  // TARN_ONE_HEADER_OBSERVING_THREAD_

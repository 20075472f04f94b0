// What is available without an operating system, and the names of all services. The other systems derive from this, and so does
// your own (TARN_PLATFORM_HEADER, docs/platforms.md).
#ifndef TARN_POLICIES_PLATFORM_NONE_H_
#define TARN_POLICIES_PLATFORM_NONE_H_

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "tarn/policies/platform/config.h"

namespace tarn::platform {

/// The services of a system. A constant says whether a service exists; its functions, which follow, are used if it does.
struct no_system {
  // ---- threads. Without them, tarn::mutex locks nothing, and atomic words are what the processor has
  static constexpr bool has_threads = false;
  /// Lets other threads run.
  static void yield() noexcept {}
  static void sleep(std::uint64_t) noexcept {}  // nanoseconds
  /// Returns when the word is no longer `value`, after wake(), or spuriously. \param nanoseconds  the most to wait; 0: any
  static void wait_while(const unsigned*, unsigned, std::uint64_t) noexcept {}
  static void wake(const unsigned*, int) noexcept {}  // that many threads that wait for the word
  /// Whether the process has had one thread only. False: not known.
  static bool is_single_threaded() noexcept { return true; }
  /// A number of the calling thread, never 0, which no other thread has while it runs.
  static std::uintptr_t this_thread() noexcept { return 1; }
  /// Whether the system can say which threads exist. If so, this_thread() is less than 2^22.
  static constexpr bool knows_threads = false;
  /// Whether no thread of the process has that number. Later, another may have it.
  static bool is_gone(std::uintptr_t) noexcept { return false; }
  static unsigned this_process() noexcept { return 1; }  // another number in the child of a fork

  // ---- changes of a word that the processor can't make atomically, such as on a Cortex-M0+: made while a section exists,
  // which masks interrupts
  static constexpr bool has_atomic_section = false;
  struct atomic_section {};

  // ---- variables of a thread: the language's thread_local, under the name TARN_THREAD_LOCAL
  static constexpr bool has_thread_locals = false;
  /// Thread-specific values, under numbers below `thread_keys`, that need no memory. Their function is called with the value
  /// when a thread exits.
  static constexpr unsigned thread_keys = 0;
  static unsigned make_thread_key(void (*)(void*)) noexcept { return no_key; }
  static bool set_thread_value(unsigned, void*) noexcept { return false; }
  static void* thread_value(unsigned) noexcept { return nullptr; }  // the calling thread's; null: it set none
  static void drop_thread_key(unsigned) noexcept {}
  /// Whether that may happen after the thread's variables are destroyed, and destructors of variables are unreliable.
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
  /// Unmaps exactly what map_pages() returned. If the system refuses, the addresses are lost, but no memory.
  static void unmap_pages(void*, std::size_t) noexcept {}
  static bool open_pages(void*, std::size_t) noexcept { return false; }
  /// Moves the memory of pages to other addresses of the program's, of fewer or more bytes: what isn't moved is zero there. The
  /// old ones are no longer mapped. If the system refuses, the pages stay, but the new addresses may no longer be mapped.
  /// \param from, bytes, to, bytes_there
  static constexpr bool has_moving_pages = false;
  static bool move_pages(void*, std::size_t, void*, std::size_t) noexcept { return false; }
  /// Maps zeroed pages there that may be used: over what the program has there, or where nothing is mapped. Returns whether it
  /// did. If not, what was there may no longer be mapped.
  /// \param start, bytes, over
  static bool map_pages_at(void*, std::size_t, bool) noexcept { return false; }
  static void close_pages(void*, std::size_t) noexcept {}  // their contents may be lost
  static void empty_pages(void*, std::size_t) noexcept {}  // their contents and their memory are freed
  static int lock_pages(void*, std::size_t) noexcept { return 1; }  // 0, or the system's error
  static constexpr std::size_t huge_page_bytes = 2 * 1024 * 1024;
  static constexpr bool has_huge_pages = false;
  static bool ask_for_huge_pages(void*, std::size_t) noexcept { return false; }
  /// Replaces the small pages that are in memory there, part of a huge page, by a huge page.
  static void join_small_pages(void*) noexcept {}
  /// Several runs of pages whose memory is freed, or provided: see pages.h.
  static constexpr bool has_page_advice = false;
  /// Passes the text of /proc/self/smaps to take(text, bytes). Returns whether there is one.
  static bool read_memory_map(auto&&) noexcept { return false; }
  /// Copies bytes from any address, valid or not. Returns whether it could.
  static bool read_anywhere(const void*, void*, std::size_t) noexcept { return false; }

  // ---- copies of the process. A system with them defines TARN_HAS_FORK
  static constexpr bool has_fork = false;
  /// Returns whether the functions will be called, until the library is unloaded.
  static bool at_fork(void (*)(), void (*)(), void (*)()) noexcept { return false; }  // before, in the parent, in the child

  // ---- cancellation, which must not happen while a thread is inside a pool
  struct uncancelled {
    uncancelled() noexcept {}
    uncancelled(const uncancelled&) = delete;
    uncancelled& operator=(const uncancelled&) = delete;
  };

  // ---- the rest
  /// Two unpredictable words, the same at each call. Returns whether there are.
  static bool random_words(std::uint64_t*) noexcept { return false; }
  /// Writes a report where the program's errors go: nowhere.
  static void write_error(const char*, std::size_t) noexcept {}
};

/// Restores errno, because a system call that has nothing to wait for fails, and a free may wait.
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

#endif  // TARN_POLICIES_PLATFORM_NONE_H_

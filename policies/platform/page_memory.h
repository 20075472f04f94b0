// The memory behind pages that are mapped: brought in before it is needed, given back when it isn't. Where the system lacks a
// call, a slower way does the same. Neither takes a lock or memory.
#ifndef TARN_POLICIES_PLATFORM_PAGE_MEMORY_H_
#define TARN_POLICIES_PLATFORM_PAGE_MEMORY_H_

#include <cerrno>
#include <cstddef>

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/page_advice.h"
#include "tarn/policies/platform/same_errno.h"
#include "tarn/policies/platform/system.h"
#include "tarn/policies/platform/system_pages.h"

namespace tarn::detail {

/// As the system reads it: struct iovec of <sys/uio.h>.
struct page_run {
  void* start;
  std::size_t bytes;
};

/// The system calls of page_memory: advise(), and advise_all() for several runs. Each returns as the system does: negative, and
/// errno says why.
struct page_calls : platform::system {
  static constexpr bool exist = has_page_advice;
};

/// \tparam System  page_calls; a test names one that refuses
template <class System = page_calls>
class page_memory_over {
 public:
  /// Runs that one system call takes.
  static constexpr std::size_t runs_a_call = 64;

  static std::size_t page_bytes() noexcept { return system_pages::page_bytes(); }

  /// Brings every page of a region into memory, and changes no content. The region starts on a page and may be written; other
  /// threads may use it meanwhile. Returns false if the system refused: then errno says why, and a part may be in memory.
  static bool fill(std::byte* start, std::size_t bytes) noexcept {
    if constexpr (System::exist) {
      const int before = errno;
      int result;
      do result = System::advise(start, bytes, System::populate_write);
      while (result != 0 && errno == EINTR);
      if (result != 0 && errno != EINVAL && errno != ENOSYS) return false;
      errno = before;
      if (result == 0) return true;
    }
    touch(start, bytes);
    return true;
  }

  /// Gives back the pages of any number of runs, which start and end on pages of memory that is mapped privately, without
  /// a file. Nobody may use them meanwhile. Runs are members `start` and `bytes`. Returns how many went, from the first on:
  /// fewer than `n` if the system refused one, such as locked pages; the others weren't tried. Leaves errno as it was.
  template <class Run>
  static std::size_t discard([[maybe_unused]] const Run* runs, [[maybe_unused]] std::size_t n,
                             [[maybe_unused]] page_advice how) noexcept {
    std::size_t gone = 0;
    if constexpr (System::exist) {
      const platform::same_errno same;
      const int advice = how == page_advice::discard ? System::discard : System::free_lazily;
      while (gone != n) {
        const std::size_t more = n - gone == 1 || one_by_one_.load(memory_order_relaxed)
                                     ? System::advise(runs[gone].start, runs[gone].bytes, advice) == 0
                                     : discard_some(runs + gone, n - gone, advice);
        if (more == 0) break;
        gone += more;
      }
    }
    return gone;
  }

 private:
  /// Returns how many of the runs went; 0: the system refused the first.
  template <class Run>
  static std::size_t discard_some(const Run* runs, std::size_t n, int advice) noexcept {
    page_run some[runs_a_call];
    const std::size_t count = n < runs_a_call ? n : runs_a_call;
    for (std::size_t i = 0; i != count; ++i) some[i] = {runs[i].start, runs[i].bytes};
    const long result = System::advise_all(some, count, advice);
    const int error = result < 0 ? errno : 0;
    std::size_t bytes = result < 0 ? 0 : static_cast<std::size_t>(result);
    std::size_t gone = 0;
    for (; gone != count && result >= 0 && some[gone].bytes <= bytes; ++gone) bytes -= some[gone].bytes;
    if (gone != 0) return gone;
    // Either the call isn't known (ENOSYS), not allowed (EPERM), doesn't take this advice (EINVAL, before Linux 6.13) or no
    // constant for oneself (EBADF, before 6.15): then one call a run, from now on. Or this run can't go.
    if (System::advise(some[0].start, some[0].bytes, advice) != 0) return 0;
    if (error == ENOSYS || error == EPERM || error == EINVAL || error == EBADF) one_by_one_.store(true, memory_order_relaxed);
    return 1;
  }

  /// One byte a page, or'ed with 0 as a whole: what another thread writes meanwhile stays.
  static void touch(std::byte* start, std::size_t bytes) noexcept {
    const std::size_t page = page_bytes();
    for (std::size_t at = 0; at < bytes; at += page) touch(start + at);
  }
  /// A sanitizer would report free blocks, which nobody may touch, and what other threads write.
#if defined(__clang__)
  [[gnu::noinline, clang::disable_sanitizer_instrumentation]]
#elif defined(__GNUC__)
  [[gnu::noinline, gnu::no_sanitize_address, gnu::no_sanitize_thread]]
#endif
  static void touch(std::byte* byte) noexcept {
#if defined(__GNUC__)
    unsigned char nothing = 0;
    asm("" : "+r"(nothing));  // or'ing with a 0 that it knows, clang only reads: no page comes
    __atomic_fetch_or(reinterpret_cast<unsigned char*>(byte), nothing, __ATOMIC_RELAXED);
#else
    volatile std::byte* const same = byte;
    *same = *same;
#endif
  }

  static inline constinit atomic_word<bool> one_by_one_ = false;
};

using page_memory = page_memory_over<>;

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_PAGE_MEMORY_H_

// The memory of mapped pages: provided before it is needed, freed when it isn't. If the system lacks a call, a slower way does
// the same. Neither takes a lock or memory.
#ifndef TARN_POLICIES_PLATFORM_PAGES_H_
#define TARN_POLICIES_PLATFORM_PAGES_H_

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"

namespace tarn {

/// How pages are freed whose addresses stay. Their content is lost; touching them gets zeroed pages.
enum class page_advice : unsigned char {
  /// They are freed immediately, and count as free. Touching one again is a page fault: the system finds a page and clears it.
  discard,
  /// They are freed when the system needs memory. Until then `top` and the resident size count them as held (smaps: LazyFree),
  /// they keep their content, and writing one again is cheaper, because the same page stays. Without swap, Linux before 4.12
  /// discards.
  free_lazily,
};

}  // namespace tarn

namespace tarn::detail {

/// Pages of the operating system. Where it has none, they are refused.
struct system_pages {
  using system = platform::system;
  static constexpr std::size_t least_bytes = 4096;
  /// In a constant expression, least_bytes, of which every system's page size is a multiple: what is computed with it for a
  /// region of a known size is enough for larger pages.
  static constexpr std::size_t bytes_here() noexcept { return std::is_constant_evaluated() ? least_bytes : page_bytes(); }

  static std::size_t page_bytes() noexcept { return system::page_bytes(); }

  /// Returns addresses that can't be accessed; null: refused.
  static std::byte* reserve(std::size_t bytes) noexcept {
    return static_cast<std::byte*>(system::map_pages(bytes, 1, 0, false));
  }
  static bool allow(std::byte* start, std::size_t bytes) noexcept { return system::open_pages(start, bytes); }
  static void forbid(std::byte* start, std::size_t bytes) noexcept { system::close_pages(start, bytes); }
  /// Frees the memory of pages that can't be accessed; the addresses stay.
  static void empty(std::byte* start, std::size_t bytes) noexcept { system::empty_pages(start, bytes); }
  static void release(std::byte* start, std::size_t bytes) noexcept { system::unmap_pages(start, bytes); }
};

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

  /// Brings every page of a region into memory, and changes no content. The region starts on a page and must be writable; other
  /// threads may use it during this. Returns false if the system refused; errno then says why, and a part may be in memory.
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
    if constexpr (platform::system::has_pages) touch(start, bytes);  // elsewhere all memory is there
    return true;
  }

  /// Frees the pages of any number of runs, which start and end on pages of memory that is mapped privately, without a file. No
  /// thread may use them during this. A run has members `start` and `bytes`. Returns how many were freed, from the first on:
  /// fewer than `n` if the system refused one, such as locked pages; the rest weren't attempted. Leaves errno unchanged.
  static std::size_t discard([[maybe_unused]] const auto* runs, [[maybe_unused]] std::size_t n,
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
  /// Returns how many of the runs were freed; 0: the system refused the first.
  static std::size_t discard_some(const auto* runs, std::size_t n, int advice) noexcept {
    page_run some[runs_a_call];
    const std::size_t count = n < runs_a_call ? n : runs_a_call;
    for (std::size_t i = 0; i != count; ++i) some[i] = {runs[i].start, runs[i].bytes};
    const long result = System::advise_all(some, count, advice);
    const int error = result < 0 ? errno : 0;
    std::size_t bytes = result < 0 ? 0 : static_cast<std::size_t>(result);
    std::size_t gone = 0;
    for (; gone != count && result >= 0 && some[gone].bytes <= bytes; ++gone) bytes -= some[gone].bytes;
    if (gone != 0) return gone;
    // Either the call isn't known (ENOSYS) or allowed (EPERM), or doesn't accept this advice (EINVAL, before Linux 6.13) or the
    // constant for the own process (EBADF, before 6.15); from now on one call a run. Or this run can't be freed.
    if (System::advise(some[0].start, some[0].bytes, advice) != 0) return 0;
    if (error == ENOSYS || error == EPERM || error == EINVAL || error == EBADF) one_by_one_.store(true, memory_order_relaxed);
    return 1;
  }

  /// One byte a page, or'ed with 0 atomically, so what another thread writes during this stays.
  static void touch(std::byte* start, std::size_t bytes) noexcept {
    const std::size_t page = page_bytes();
    for (std::size_t at = 0; at < bytes; at += page) touch(start + at);
  }
  /// A sanitizer would report free blocks, which must not be touched, and what other threads write.
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

  // Order: relaxed; a hint: the system lacks a call. At worst it is requested again.
  static inline constinit atomic_word<bool> one_by_one_ = false;
};

using page_memory = page_memory_over<>;

/// Huge pages of the operating system, on request.
struct huge_pages_of_system {
  /// The size on most systems with huge pages: x86-64, and ARM with small pages of 4 KiB.
  static constexpr std::size_t bytes = platform::system::huge_page_bytes;
  static constexpr bool exist = platform::system::has_huge_pages;

  /// A whole number of them near a size: fewer where that leaves out at most an eighth of it, more otherwise.
  static constexpr std::size_t whole_near(std::size_t size) noexcept {
    const std::size_t fewer = size / bytes * bytes;
    return size - fewer <= size / 8 ? fewer : fewer + bytes;
  }

  /// Requests them for all small pages that overlap the region, if they can contain a huge one. Returns whether the system
  /// accepted the request; it may or may not provide them.
  static bool ask(std::byte* start, std::size_t size) noexcept {
    const std::size_t page = platform::system::page_bytes();
    const auto address = reinterpret_cast<std::uintptr_t>(start);
    const std::size_t before = address % page;
    const std::size_t all = (before + size + page - 1) / page * page;
    const std::size_t skip = (bytes - (address - before) % bytes) % bytes;
    if (skip >= all || all - skip < bytes || !platform::system::ask_for_huge_pages(start - before, all)) return false;
    if (skip == 0 && before != 0) platform::system::join_small_pages(start - before);  // the heap wrote in front of `start`
    return true;
  }
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_PAGES_H_

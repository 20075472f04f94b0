// Pages of the operating system.
#ifndef TARN_POLICIES_PLATFORM_SYSTEM_PAGES_H_
#define TARN_POLICIES_PLATFORM_SYSTEM_PAGES_H_

#include <cstddef>
#include <type_traits>

#if defined(__has_include)
#if __has_include(<sys/mman.h>) && __has_include(<unistd.h>)
#include <sys/mman.h>
#include <unistd.h>
#define TARN_HAS_MMAP 1
#endif
#endif

namespace tarn::detail {

/// Without mmap, there are none.
struct system_pages {
  static constexpr std::size_t least_bytes = 4096;
  /// The same in a constant expression as least_bytes, of which every system's are a multiple: what is computed there for a
  /// region of a known size is enough for larger pages.
  static constexpr std::size_t bytes_here() noexcept { return std::is_constant_evaluated() ? least_bytes : page_bytes(); }

#if defined(TARN_HAS_MMAP)
  static std::size_t page_bytes() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

  /// Returns addresses that can't be accessed; null: refused. Without MAP_NORESERVE, so that Linux counts pages as memory once
  /// they were written, and doesn't merge them with neighbours that never were. Merging, and splitting again when access is
  /// next allowed, would double the time of take() and give(), and splitting can fail.
  static std::byte* reserve(std::size_t bytes) noexcept {
    void* const start = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return start == MAP_FAILED ? nullptr : static_cast<std::byte*>(start);
  }
  static bool allow(std::byte* start, std::size_t bytes) noexcept {
    return ::mprotect(start, bytes, PROT_READ | PROT_WRITE) == 0;
  }
  static void forbid(std::byte* start, std::size_t bytes) noexcept { ::mprotect(start, bytes, PROT_NONE); }
  /// Gives back the memory; the addresses stay.
  static void empty(std::byte* start, std::size_t bytes) noexcept { ::madvise(start, bytes, MADV_DONTNEED); }
  static void release(std::byte* start, std::size_t bytes) noexcept {
    if (::munmap(start, bytes) == 0) return;
    // This would split a mapping, and the process has too many already: the addresses are lost, but no memory.
    forbid(start, bytes);
    empty(start, bytes);
  }
#else
  static std::size_t page_bytes() noexcept { return 4096; }
  static std::byte* reserve(std::size_t) noexcept { return nullptr; }
  static bool allow(std::byte*, std::size_t) noexcept { return false; }
  static void forbid(std::byte*, std::size_t) noexcept {}
  static void empty(std::byte*, std::size_t) noexcept {}
  static void release(std::byte*, std::size_t) noexcept {}
#endif
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_SYSTEM_PAGES_H_

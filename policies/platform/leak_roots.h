// LeakSanitizer looks for pointers in what malloc and the program's variables hold, not in pages that came from mmap. So it is
// told of those: what only a block points to is no leak.
#ifndef TARN_POLICIES_PLATFORM_LEAK_ROOTS_H_
#define TARN_POLICIES_PLATFORM_LEAK_ROOTS_H_

#include <cstddef>

namespace tarn::detail {

#if defined(__linux__) && defined(__ELF__)
// Of <sanitizer/lsan_interface.h>. Null where the program has no LeakSanitizer, which no compiler's macro says for certain.
extern "C" [[gnu::weak]] void tarn_add_leak_root(const void*, std::size_t) noexcept asm("__lsan_register_root_region");
extern "C" [[gnu::weak]] void tarn_drop_leak_root(const void*, std::size_t) noexcept asm("__lsan_unregister_root_region");

inline void add_leak_root(const void* start, std::size_t bytes) noexcept {
  if (&tarn_add_leak_root != nullptr) tarn_add_leak_root(start, bytes);
}
/// With the same arguments as add_leak_root().
inline void drop_leak_root(const void* start, std::size_t bytes) noexcept {
  if (&tarn_drop_leak_root != nullptr) tarn_drop_leak_root(start, bytes);
}
#else
inline void add_leak_root(const void*, std::size_t) noexcept {}
inline void drop_leak_root(const void*, std::size_t) noexcept {}
#endif

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_LEAK_ROOTS_H_

// The functions of the C library and of C++ that allocate, over the process' heap: what libtarn_malloc brings into a program.
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <new>

#include "tarn/malloc/heap.h"

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

namespace {

namespace heap = tarn::malloc_library;

void* refused(int error) noexcept {
  errno = error;
  return nullptr;
}
constexpr bool is_power_of_two(std::size_t n) noexcept { return n != 0 && (n & (n - 1)) == 0; }
std::size_t page() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

/// As C++ says: the new handler is asked until there is memory, or it throws, or there is none.
template <class Allocate>
[[gnu::noinline, gnu::cold]] void* allocate_or_throw(Allocate allocate) {
  for (;;) {
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
    if (void* const block = allocate()) return block;
  }
}
inline void* make(std::size_t bytes) {
  if (void* const block = heap::allocate(bytes)) [[likely]]
    return block;
  return allocate_or_throw([bytes] { return heap::allocate(bytes); });
}
inline void* make(std::size_t bytes, std::align_val_t alignment) {
  const auto allocate = [bytes, alignment] { return heap::allocate_aligned(static_cast<std::size_t>(alignment), bytes); };
  if (void* const block = allocate()) [[likely]]
    return block;
  return allocate_or_throw(allocate);
}
template <class... Alignment>
inline void* make_or_null(std::size_t bytes, Alignment... alignment) noexcept {
  try {
    return make(bytes, alignment...);
  } catch (...) {
    return nullptr;
  }
}

}  // namespace

#define TARN_EXPORTED [[gnu::visibility("default")]]

extern "C" {

TARN_EXPORTED void* malloc(std::size_t bytes) noexcept { return heap::allocate(bytes); }
TARN_EXPORTED void free(void* block) noexcept { heap::deallocate(block); }
TARN_EXPORTED void free_sized(void* block, std::size_t) noexcept { heap::deallocate(block); }
TARN_EXPORTED void free_aligned_sized(void* block, std::size_t, std::size_t) noexcept { heap::deallocate(block); }
TARN_EXPORTED void* calloc(std::size_t count, std::size_t bytes) noexcept {
  std::size_t all;
  if (__builtin_mul_overflow(count, bytes, &all)) return refused(ENOMEM);
  return heap::allocate_zeroed(all);
}
TARN_EXPORTED void* realloc(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return heap::allocate(bytes);
  if (bytes != 0) return heap::reallocate(block, bytes);
  heap::deallocate(block);  // as glibc and POSIX.1-2008 have it
  return nullptr;
}
TARN_EXPORTED void* reallocarray(void* block, std::size_t count, std::size_t bytes) noexcept {
  std::size_t all;
  if (__builtin_mul_overflow(count, bytes, &all)) return refused(ENOMEM);
  return realloc(block, all);
}
TARN_EXPORTED void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return is_power_of_two(alignment) ? heap::allocate_aligned(alignment, bytes) : refused(EINVAL);
}
TARN_EXPORTED void* memalign(std::size_t alignment, std::size_t bytes) noexcept { return aligned_alloc(alignment, bytes); }
TARN_EXPORTED int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const tarn::platform::same_errno same;
  void* const got = heap::allocate_aligned(alignment, bytes);
  if (got == nullptr) return ENOMEM;
  *block = got;
  return 0;
}
TARN_EXPORTED void* valloc(std::size_t bytes) noexcept { return aligned_alloc(page(), bytes); }
TARN_EXPORTED void* pvalloc(std::size_t bytes) noexcept {
  const std::size_t whole = page();
  if (bytes > ~std::size_t{0} - whole) return refused(ENOMEM);
  return aligned_alloc(whole, bytes == 0 ? whole : (bytes + whole - 1) / whole * whole);
}
TARN_EXPORTED std::size_t malloc_usable_size(void* block) noexcept { return heap::usable_bytes(block); }
TARN_EXPORTED int malloc_trim(std::size_t) noexcept { return heap::trim() ? 1 : 0; }

#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
/// Blocks in the cache of a thread count as in use.
TARN_EXPORTED struct mallinfo2 mallinfo2() noexcept {
  const heap::usage now = heap::count();
  struct mallinfo2 said = {};
  said.arena = now.mapped;
  said.hblkhd = now.large;
  said.uordblks = now.blocks + now.large;
  said.fordblks = now.mapped > said.uordblks ? now.mapped - said.uordblks : 0;
  said.keepcost = now.kept;
  return said;
}
#endif

}  // extern "C"

TARN_EXPORTED void* operator new(std::size_t bytes) { return make(bytes); }
TARN_EXPORTED void* operator new[](std::size_t bytes) { return make(bytes); }
TARN_EXPORTED void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return make_or_null(bytes); }
TARN_EXPORTED void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return make_or_null(bytes); }
TARN_EXPORTED void* operator new(std::size_t bytes, std::align_val_t alignment) { return make(bytes, alignment); }
TARN_EXPORTED void* operator new[](std::size_t bytes, std::align_val_t alignment) { return make(bytes, alignment); }
TARN_EXPORTED void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return make_or_null(bytes, alignment);
}
TARN_EXPORTED void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return make_or_null(bytes, alignment);
}
TARN_EXPORTED void operator delete(void* block) noexcept { heap::deallocate(block); }
TARN_EXPORTED void operator delete[](void* block) noexcept { heap::deallocate(block); }
TARN_EXPORTED void operator delete(void* block, std::size_t bytes) noexcept { heap::deallocate(block, bytes); }
TARN_EXPORTED void operator delete[](void* block, std::size_t bytes) noexcept { heap::deallocate(block, bytes); }
TARN_EXPORTED void operator delete(void* block, const std::nothrow_t&) noexcept { heap::deallocate(block); }
TARN_EXPORTED void operator delete[](void* block, const std::nothrow_t&) noexcept { heap::deallocate(block); }
TARN_EXPORTED void operator delete(void* block, std::align_val_t) noexcept { heap::deallocate(block); }
TARN_EXPORTED void operator delete[](void* block, std::align_val_t) noexcept { heap::deallocate(block); }
TARN_EXPORTED void operator delete(void* block, std::size_t, std::align_val_t) noexcept { heap::deallocate(block); }
TARN_EXPORTED void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { heap::deallocate(block); }
TARN_EXPORTED void operator delete(void* block, std::align_val_t, const std::nothrow_t&) noexcept { heap::deallocate(block); }
TARN_EXPORTED void operator delete[](void* block, std::align_val_t, const std::nothrow_t&) noexcept { heap::deallocate(block); }

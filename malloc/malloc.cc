// The functions of the C library and of C++ that allocate, over the process' heap: what libtarn_malloc brings into a program.
#include <unistd.h>

#include <bit>
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

// Under names of our own: each C library's headers declare the others with exception specifications of its own.
TARN_EXPORTED void* c_malloc(std::size_t) noexcept asm("malloc");
TARN_EXPORTED void c_free(void*) noexcept asm("free");
TARN_EXPORTED void c_free_sized(void*, std::size_t) noexcept asm("free_sized");
TARN_EXPORTED void c_free_aligned_sized(void*, std::size_t, std::size_t) noexcept asm("free_aligned_sized");
TARN_EXPORTED void* c_calloc(std::size_t, std::size_t) noexcept asm("calloc");
TARN_EXPORTED void* c_realloc(void*, std::size_t) noexcept asm("realloc");
TARN_EXPORTED void* c_reallocarray(void*, std::size_t, std::size_t) noexcept asm("reallocarray");
TARN_EXPORTED void* c_aligned_alloc(std::size_t, std::size_t) noexcept asm("aligned_alloc");
TARN_EXPORTED void* c_memalign(std::size_t, std::size_t) noexcept asm("memalign");
TARN_EXPORTED int c_posix_memalign(void**, std::size_t, std::size_t) noexcept asm("posix_memalign");
TARN_EXPORTED void* c_valloc(std::size_t) noexcept asm("valloc");
TARN_EXPORTED void* c_pvalloc(std::size_t) noexcept asm("pvalloc");
TARN_EXPORTED std::size_t c_malloc_usable_size(void*) noexcept asm("malloc_usable_size");
TARN_EXPORTED int c_malloc_trim(std::size_t) noexcept asm("malloc_trim");

void* c_malloc(std::size_t bytes) noexcept { return heap::allocate(bytes); }
void c_free(void* block) noexcept { heap::deallocate(block); }
void c_free_sized(void* block, std::size_t bytes) noexcept { heap::deallocate_sized(block, 1, bytes, true); }
void c_free_aligned_sized(void* block, std::size_t alignment, std::size_t bytes) noexcept {
  heap::deallocate_sized(block, alignment, bytes, false);
}
void* c_calloc(std::size_t count, std::size_t bytes) noexcept {
  std::size_t all;
  if (__builtin_mul_overflow(count, bytes, &all)) return refused(ENOMEM);
  return heap::allocate_zeroed(all);
}
void* c_realloc(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return heap::allocate(bytes);
  if (bytes != 0) return heap::reallocate(block, bytes);
  heap::deallocate(block);  // as glibc and POSIX.1-2008 have it
  return nullptr;
}
void* c_reallocarray(void* block, std::size_t count, std::size_t bytes) noexcept {
  std::size_t all;
  if (__builtin_mul_overflow(count, bytes, &all)) return refused(ENOMEM);
  return c_realloc(block, all);
}
void* c_aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return is_power_of_two(alignment) ? heap::allocate_aligned(alignment, bytes) : refused(EINVAL);
}
/// As glibc's: an alignment that is no power of two becomes the next.
void* c_memalign(std::size_t alignment, std::size_t bytes) noexcept {
  if (alignment > ~std::size_t{0} / 2 + 1) return refused(EINVAL);
  return heap::allocate_aligned(std::bit_ceil(alignment), bytes);
}
int c_posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const tarn::platform::same_errno same;
  void* const got = heap::allocate_aligned(alignment, bytes);
  if (got == nullptr) return ENOMEM;
  *block = got;
  return 0;
}
void* c_valloc(std::size_t bytes) noexcept { return c_aligned_alloc(page(), bytes); }
void* c_pvalloc(std::size_t bytes) noexcept {
  const std::size_t whole = page();
  if (bytes > ~std::size_t{0} - whole) return refused(ENOMEM);
  return c_aligned_alloc(whole, bytes == 0 ? whole : (bytes + whole - 1) / whole * whole);
}
std::size_t c_malloc_usable_size(void* block) noexcept { return heap::usable_bytes(block); }
int c_malloc_trim(std::size_t) noexcept { return heap::trim() ? 1 : 0; }

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
TARN_EXPORTED void operator delete(void* block, std::size_t bytes, std::align_val_t alignment) noexcept {
  heap::deallocate_sized(block, static_cast<std::size_t>(alignment), bytes, false);
}
TARN_EXPORTED void operator delete[](void* block, std::size_t bytes, std::align_val_t alignment) noexcept {
  heap::deallocate_sized(block, static_cast<std::size_t>(alignment), bytes, false);
}
TARN_EXPORTED void operator delete(void* block, std::align_val_t, const std::nothrow_t&) noexcept { heap::deallocate(block); }
TARN_EXPORTED void operator delete[](void* block, std::align_val_t, const std::nothrow_t&) noexcept { heap::deallocate(block); }

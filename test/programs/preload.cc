// The C library's malloc functions, over an xallocator: for programs that know nothing of tarn.
#include <cerrno>
#include <cstddef>

#include "tarn/allocator/xmalloc.h"

namespace {

// Programs have many blocks of more than 4 KiB, and nobody asks for counts. Each larger one is mapped by itself.
using heap = tarn::xallocator<struct preloaded, tarn::page_store<>, tarn::geometric_classes<16, 32768>, tarn::no_statistics>;

}  // namespace

extern "C" {

[[gnu::visibility("default")]] void* malloc(std::size_t bytes) noexcept { return heap::allocate(bytes); }
[[gnu::visibility("default")]] void free(void* block) noexcept { heap::deallocate(block); }
[[gnu::visibility("default")]] void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return heap::allocate_zeroed(count, bytes);
}
[[gnu::visibility("default")]] void* realloc(void* block, std::size_t bytes) noexcept { return heap::reallocate(block, bytes); }
[[gnu::visibility("default")]] void* reallocarray(void* block, std::size_t count, std::size_t bytes) noexcept {
  std::size_t all;
  if (!__builtin_mul_overflow(count, bytes, &all)) return heap::reallocate(block, all);
  errno = ENOMEM;
  return nullptr;
}
[[gnu::visibility("default")]] void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return heap::allocate_aligned(alignment, bytes);
}
[[gnu::visibility("default")]] void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return heap::allocate_aligned(alignment, bytes);
}
[[gnu::visibility("default")]] void* valloc(std::size_t bytes) noexcept { return heap::allocate_aligned(4096, bytes); }
[[gnu::visibility("default")]] int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  return heap::allocate_aligned(block, alignment, bytes);
}
[[gnu::visibility("default")]] std::size_t malloc_usable_size(void* block) noexcept { return heap::usable_size(block); }
[[gnu::visibility("default")]] int malloc_trim(std::size_t) noexcept { return heap::trim() != 0; }

}  // extern "C"

// Replaces malloc's family and tells of each call, also of those that operator new and the C library make. For one file of a
// test program, which says what is done then; under a sanitizer, which brings a malloc of its own, not at all.
#ifndef TARN_TEST_ALLOCATOR_REPLACED_MALLOC_H_
#define TARN_TEST_ALLOCATOR_REPLACED_MALLOC_H_

#include <cerrno>
#include <cstddef>

namespace tarn::test {

void on_malloc() noexcept;
void on_free() noexcept;  // not of null

}  // namespace tarn::test

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t n) { return tarn::test::on_malloc(), __libc_malloc(n); }
void* calloc(std::size_t n, std::size_t m) { return tarn::test::on_malloc(), __libc_calloc(n, m); }
void* realloc(void* p, std::size_t n) { return tarn::test::on_malloc(), __libc_realloc(p, n); }
void* memalign(std::size_t a, std::size_t n) { return tarn::test::on_malloc(), __libc_memalign(a, n); }
void* aligned_alloc(std::size_t a, std::size_t n) { return tarn::test::on_malloc(), __libc_memalign(a, n); }
int posix_memalign(void** p, std::size_t a, std::size_t n) {
  *p = memalign(a, n);
  return *p == nullptr ? ENOMEM : 0;
}
void free(void* p) {
  if (p != nullptr) tarn::test::on_free();
  __libc_free(p);
}
}

#endif  // TARN_TEST_ALLOCATOR_REPLACED_MALLOC_H_

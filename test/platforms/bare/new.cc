// operator new and delete, and the errors of libstdc++'s headers, where there is no C++ runtime library.
#include <stdlib.h>

#include <new>

#include "startup.h"

const std::nothrow_t std::nothrow{};

namespace {
void* allocate(size_t bytes, size_t alignment = alignof(max_align_t)) noexcept {
  // Not malloc(), which aligns to 8 bytes in picolibc, where max_align_t has 16.
  return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void* must_allocate(size_t bytes, size_t alignment = alignof(max_align_t)) {
  void* const memory = allocate(bytes, alignment);
  if (memory == nullptr) tarn_test_exit(134);
  return memory;
}
}  // namespace

void* operator new(size_t bytes) { return must_allocate(bytes); }
void* operator new[](size_t bytes) { return must_allocate(bytes); }
void* operator new(size_t bytes, std::align_val_t a) { return must_allocate(bytes, static_cast<size_t>(a)); }
void* operator new[](size_t bytes, std::align_val_t a) { return must_allocate(bytes, static_cast<size_t>(a)); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new(size_t bytes, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<size_t>(a));
}
void operator delete(void* p) noexcept { free(p); }
void operator delete[](void* p) noexcept { free(p); }
void operator delete(void* p, size_t) noexcept { free(p); }
void operator delete[](void* p, size_t) noexcept { free(p); }
void operator delete(void* p, std::align_val_t) noexcept { free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { free(p); }

namespace std {
[[noreturn]] void terminate() noexcept { tarn_test_exit(134); }
[[noreturn]] void __throw_bad_alloc() { tarn_test_exit(134); }
[[noreturn]] void __throw_bad_array_new_length() { tarn_test_exit(134); }
[[noreturn]] void __throw_length_error(const char*) { tarn_test_exit(134); }
[[noreturn]] void __throw_logic_error(const char*) { tarn_test_exit(134); }
[[noreturn]] void __throw_out_of_range(const char*) { tarn_test_exit(134); }
[[noreturn]] void __throw_out_of_range_fmt(const char*, ...) { tarn_test_exit(134); }
[[noreturn]] void __throw_bad_function_call() { tarn_test_exit(134); }
[[noreturn]] void __throw_bad_optional_access() { tarn_test_exit(134); }
}  // namespace std

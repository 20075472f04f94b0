// Replaces the global operators new by ones whose memory isn't zero, as memory is that was used before, and which are counted.
// For one file of a test program.
#ifndef TARN_TEST_SUPPORT_DIRTY_OPERATORS_H_
#define TARN_TEST_SUPPORT_DIRTY_OPERATORS_H_

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace tarn::test {

inline constinit thread_local std::size_t calls_of_new = 0;

inline void* dirty_memory(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) noexcept {
  ++calls_of_new;
  if (bytes > std::size_t{1} << 40) return nullptr;  // a sanitizer would stop the program
  const std::size_t whole = (bytes + alignment) / alignment * alignment;
  void* const start = std::aligned_alloc(alignment, whole);
  if (start != nullptr) std::memset(start, 0xA5, whole);
  return start;
}
inline void* dirty_or_throw(void* start) {
  if (start == nullptr) throw std::bad_alloc();
  return start;
}
inline void give_back(void* start) noexcept {
  asm volatile("" : "+r"(start));  // else g++ sees a block of operator new that is given to free()
  std::free(start);
}

}  // namespace tarn::test

void* operator new(std::size_t n) { return tarn::test::dirty_or_throw(tarn::test::dirty_memory(n)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return tarn::test::dirty_memory(n); }
void* operator new(std::size_t n, std::align_val_t a) {
  return tarn::test::dirty_or_throw(tarn::test::dirty_memory(n, static_cast<std::size_t>(a)));
}
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return tarn::test::dirty_memory(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { tarn::test::give_back(p); }
void operator delete(void* p, std::align_val_t) noexcept { tarn::test::give_back(p); }
void operator delete(void* p, std::size_t) noexcept { tarn::test::give_back(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { tarn::test::give_back(p); }

#endif  // TARN_TEST_SUPPORT_DIRTY_OPERATORS_H_

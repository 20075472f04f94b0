// Replaces the global operators new and delete, and counts by form what they are asked for. For one file of a test program,
// whose allocating threads are one at a time.
#ifndef TARN_TEST_SUPPORT_GLOBAL_OPERATORS_H_
#define TARN_TEST_SUPPORT_GLOBAL_OPERATORS_H_

#include <cstddef>
#include <cstdlib>
#include <new>

namespace tarn::test {

/// Calls, by form. A delete of null is none.
struct tally {
  int plain = 0;
  int nothrow = 0;
  int aligned = 0;
  int aligned_nothrow = 0;
  int array = 0;
  int plain_delete = 0;
  int aligned_delete = 0;
  int array_delete = 0;
  bool operator==(const tally&) const = default;
};
inline constexpr tally nothing;

struct global_operators {
  static inline tally asked;
  static inline bool refuse = false;  // there is no memory

  static void* take(int& count, std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) noexcept {
    if (refuse || bytes > std::size_t{1} << 40) return nullptr;  // a sanitizer would stop the program
    ++count;
    return std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  }
  static void* or_bad_alloc(void* block) {
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
  static void give(int& count, void* block) noexcept {
    if (block == nullptr) return;
    ++count;
    asm volatile("" : "+r"(block));  // else g++ sees a block of operator new that is given to free()
    std::free(block);
  }
};

/// What `action` asked for.
template <class Action>
tally during(Action action) {
  global_operators::asked = tally();
  action();
  return global_operators::asked;
}

/// The compiler may leave out a pair of new and delete that it sees through.
template <class T>
[[gnu::noinline]] T* seen(T* object) noexcept {
  asm volatile("" : "+r"(object) : : "memory");
  return object;
}

}  // namespace tarn::test

void* operator new(std::size_t n) {
  using namespace tarn::test;
  return global_operators::or_bad_alloc(global_operators::take(global_operators::asked.plain, n));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  using namespace tarn::test;
  return global_operators::take(global_operators::asked.nothrow, n);
}
void* operator new(std::size_t n, std::align_val_t a) {
  using namespace tarn::test;
  return global_operators::or_bad_alloc(
      global_operators::take(global_operators::asked.aligned, n, static_cast<std::size_t>(a)));
}
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  using namespace tarn::test;
  return global_operators::take(global_operators::asked.aligned_nothrow, n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n) {
  using namespace tarn::test;
  return global_operators::or_bad_alloc(global_operators::take(global_operators::asked.array, n));
}
void operator delete(void* p) noexcept {
  using namespace tarn::test;
  global_operators::give(global_operators::asked.plain_delete, p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  using namespace tarn::test;
  global_operators::give(global_operators::asked.aligned_delete, p);
}
void operator delete[](void* p) noexcept {
  using namespace tarn::test;
  global_operators::give(global_operators::asked.array_delete, p);
}
void operator delete(void* p, std::size_t) noexcept { ::operator delete(p); }
void operator delete(void* p, std::size_t, std::align_val_t a) noexcept { ::operator delete(p, a); }
void operator delete[](void* p, std::size_t) noexcept { ::operator delete[](p); }

#endif  // TARN_TEST_SUPPORT_GLOBAL_OPERATORS_H_

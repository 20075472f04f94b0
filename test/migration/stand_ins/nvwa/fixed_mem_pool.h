// A stand-in for nvwa's header: the documented interface, a limit over the heap.
#ifndef NVWA_FIXED_MEM_POOL_H
#define NVWA_FIXED_MEM_POOL_H

#include <cstddef>
#include <new>

namespace nvwa {

template <class T>
class fixed_mem_pool {
 public:
  static bool initialize(std::size_t blocks) {
    limit() = static_cast<int>(blocks);
    return true;
  }
  static int deinitialize() { return used(); }
  static int get_alloc_count() { return used(); }
  static bool is_initialized() { return limit() != 0; }
  static void* allocate() { return used() == limit() ? nullptr : (++used(), ::operator new(sizeof(T))); }
  static void deallocate(void* block) {
    if (block == nullptr) return;
    --used();
    ::operator delete(block);
  }

 private:
  static int& used() {
    static int blocks = 0;
    return blocks;
  }
  static int& limit() {
    static int blocks = 0;
    return blocks;
  }
};

}  // namespace nvwa

#define STAND_IN_FIXED_POOL(Class, Noexcept, Fail)                                       \
 public:                                                                                 \
  static void* operator new(std::size_t) Noexcept {                                      \
    void* const block = nvwa::fixed_mem_pool<Class>::allocate();                         \
    if (block == nullptr) Fail;                                                          \
    return block;                                                                        \
  }                                                                                      \
  static void operator delete(void* block) { nvwa::fixed_mem_pool<Class>::deallocate(block); }

#define DECLARE_FIXED_MEM_POOL(Class) STAND_IN_FIXED_POOL(Class, , throw std::bad_alloc())
#define DECLARE_FIXED_MEM_POOL__NOTHROW(Class) STAND_IN_FIXED_POOL(Class, noexcept, return nullptr)

#endif

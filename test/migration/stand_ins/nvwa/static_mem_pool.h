// A stand-in for nvwa's header: the documented interface over the heap, so that programs before compile. It pools nothing.
#ifndef NVWA_STATIC_MEM_POOL_H
#define NVWA_STATIC_MEM_POOL_H

#include <cstddef>
#include <new>

namespace nvwa {

template <std::size_t Size, int Group = -1>
class static_mem_pool {
 public:
  static static_mem_pool& instance() {
    static static_mem_pool pool;
    return pool;
  }
  static static_mem_pool& instance_known() { return instance(); }
  void* allocate() { return ::operator new(Size, std::nothrow); }
  void deallocate(void* block) { ::operator delete(block); }
  void recycle() {}
};

}  // namespace nvwa

#define STAND_IN_POOL(Class, Group, Noexcept, Fail)                                                    \
 public:                                                                                               \
  static void* operator new(std::size_t) Noexcept {                                                    \
    void* const block = nvwa::static_mem_pool<sizeof(Class), Group>::instance_known().allocate();      \
    if (block == nullptr) Fail;                                                                        \
    return block;                                                                                      \
  }                                                                                                    \
  static void operator delete(void* block) {                                                           \
    if (block != nullptr) nvwa::static_mem_pool<sizeof(Class), Group>::instance_known().deallocate(block); \
  }

#define DECLARE_STATIC_MEM_POOL(Class) STAND_IN_POOL(Class, -1, , throw std::bad_alloc())
#define DECLARE_STATIC_MEM_POOL__NOTHROW(Class) STAND_IN_POOL(Class, -1, noexcept, return nullptr)
#define DECLARE_STATIC_MEM_POOL_GROUPED(Class, Group) STAND_IN_POOL(Class, Group, , throw std::bad_alloc())
#define DECLARE_STATIC_MEM_POOL_GROUPED__NOTHROW(Class, Group) STAND_IN_POOL(Class, Group, noexcept, return nullptr)
#define PREPARE_STATIC_MEM_POOL(Class) nvwa::static_mem_pool<sizeof(Class)>::instance()
#define PREPARE_STATIC_MEM_POOL_GROUPED(Class, Group) nvwa::static_mem_pool<sizeof(Class), Group>::instance()

#endif

// A stand-in for endurodave's header: an allocator over xmalloc.
#ifndef STL_ALLOCATOR_H
#define STL_ALLOCATOR_H

#include <cstddef>

#include "xallocator.h"

template <class T>
class stl_allocator {
 public:
  using value_type = T;
  stl_allocator() {}
  template <class U>
  stl_allocator(const stl_allocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(xmalloc(n * sizeof(T))); }
  void deallocate(T* p, std::size_t) { xfree(p); }
};
template <class T, class U>
bool operator==(const stl_allocator<T>&, const stl_allocator<U>&) {
  return true;
}

#endif

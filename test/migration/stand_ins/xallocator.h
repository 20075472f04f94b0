// A stand-in for endurodave's header: the documented interface over malloc, so that programs before compile. It pools nothing.
#ifndef XALLOCATOR_H
#define XALLOCATOR_H

#include <cstddef>
#include <cstdlib>
#include <new>

inline void xalloc_init() {}
inline void xalloc_destroy() {}
inline void* xmalloc(std::size_t size) { return std::malloc(size); }
inline void xfree(void* block) { std::free(block); }
inline void* xrealloc(void* block, std::size_t size) { return std::realloc(block, size); }
inline void xalloc_stats() {}

#define XALLOCATOR                                                                            \
 public:                                                                                      \
  void* operator new(std::size_t size) { return xmalloc(size); }                              \
  void* operator new(std::size_t, void* place) { return place; }                              \
  void* operator new(std::size_t size, const std::nothrow_t&) { return xmalloc(size); }       \
  void* operator new[](std::size_t size) { return xmalloc(size); }                            \
  void operator delete(void* block) { xfree(block); }                                         \
  void operator delete(void* block, const std::nothrow_t&) { xfree(block); }                  \
  void operator delete[](void* block) { xfree(block); }

#endif

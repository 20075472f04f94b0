// A stand-in for endurodave's header: the two macros over the heap. It pools nothing.
#ifndef ALLOCATOR_H
#define ALLOCATOR_H

#include <cstddef>
#include <new>

class Allocator {
 public:
  Allocator(std::size_t size, unsigned objects = 0, char* memory = nullptr, const char* name = nullptr)
      : size_(size) {
    static_cast<void>(objects), static_cast<void>(memory), static_cast<void>(name);
  }
  void* Allocate(std::size_t size) { return ++used_, ::operator new(size); }
  void Deallocate(void* block) { --used_, ::operator delete(block); }
  std::size_t GetBlockSize() const { return size_; }
  unsigned GetBlocksInUse() const { return used_; }

 private:
  std::size_t size_;
  unsigned used_ = 0;
};

#define DECLARE_ALLOCATOR                                                         \
 public:                                                                          \
  void* operator new(std::size_t size) { return _allocator.Allocate(size); }      \
  void operator delete(void* object) { _allocator.Deallocate(object); }           \
                                                                                  \
 private:                                                                         \
  static Allocator _allocator;

#define IMPLEMENT_ALLOCATOR(Class, objects, memory) Allocator Class::_allocator(sizeof(Class), objects, memory, #Class);

#endif

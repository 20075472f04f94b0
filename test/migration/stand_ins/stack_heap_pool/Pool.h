// A stand-in for Pool.h of "Stack, Heap, Pool": the documented interface in few lines.
#ifndef STACK_HEAP_POOL_POOL_H
#define STACK_HEAP_POOL_POOL_H

#include <array>
#include <cstddef>
#include <cstdint>

template <class T, std::int32_t Objects>
class Pool {
 public:
  T* acquire() {
    for (std::size_t i = 0; i < size; ++i)
      if (!used_[i]) return used_[i] = true, &objects_[i];
    return nullptr;
  }
  void release(T* object) {
    for (std::size_t i = 0; i < size; ++i)
      if (used_[i] && &objects_[i] == object) used_[i] = false, object->reset();
  }

 private:
  static constexpr std::size_t size = static_cast<std::size_t>(Objects);
  std::array<T, size> objects_{};
  std::array<bool, size> used_{};
};

#endif

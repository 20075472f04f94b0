// What an arena keeps in front of objects that have destructors, and where in a block the objects are.
#ifndef TARN_ALLOCATOR_DETAIL_ARENA_ENDINGS_H_
#define TARN_ALLOCATOR_DETAIL_ARENA_ENDINGS_H_

#include <cstddef>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/arena/arena_traits.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// In a list, the newest first. Its object is right behind it.
struct ending {
  ending* next;
  void (*run)(ending* its) noexcept;
};
/// The ending of many objects, and their number.
struct ending_of_many {
  std::size_t objects;
  ending its;
};

/// A block for an object: its ending right in front of it, if it has a destructor.
template <class T>
struct slot_of {
  static constexpr bool ends = !std::is_trivially_destructible_v<T>;
  static constexpr std::size_t alignment = ends ? larger(alignof(T), alignof(ending)) : alignof(T);
  static constexpr std::size_t front = ends ? round_up(sizeof(ending), alignment) : 0;
  static constexpr std::size_t bytes = front + sizeof(T);

  TARN_STEP static void* object_in(void* block) noexcept { return static_cast<std::byte*>(block) + front; }
  TARN_STEP static ending* make_ending(T* made) noexcept {
    void* const object = const_cast<void*>(static_cast<const volatile void*>(made));
    return ::new (static_cast<void*>(static_cast<std::byte*>(object) - sizeof(ending))) ending{nullptr, end};
  }

 private:
  static void end(ending* its) noexcept { std::launder(reinterpret_cast<T*>(its + 1))->~T(); }
};

template <class T>
struct slot_of_many {
  static constexpr bool ends = !std::is_trivially_destructible_v<T>;
  static constexpr std::size_t alignment = ends ? larger(alignof(T), alignof(ending_of_many)) : alignof(T);
  static constexpr std::size_t front = ends ? round_up(sizeof(ending_of_many), alignment) : 0;

  static T* first_in(void* block) noexcept {
    return static_cast<T*>(static_cast<void*>(static_cast<std::byte*>(block) + front));
  }
  static ending* make_ending(void* block, std::size_t objects) noexcept {
    void* const place = static_cast<std::byte*>(block) + (front - sizeof(ending_of_many));
    return &(::new (place) ending_of_many{objects, {nullptr, end}})->its;
  }

 private:
  static void end(ending* its) noexcept {
    T* const first = std::launder(reinterpret_cast<T*>(its + 1));
    auto* const number = std::launder(reinterpret_cast<std::size_t*>(reinterpret_cast<std::byte*>(its) - sizeof(std::size_t)));
    for (std::size_t left = *number; left != 0; --left) first[left - 1].~T();
  }
};

/// Ends those objects of many that were made, the last one first.
template <class T>
struct unkept_objects {
  T* first;
  std::size_t made = 0;
  ~unkept_objects() {
    while (made != 0) first[--made].~T();
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_ARENA_ENDINGS_H_

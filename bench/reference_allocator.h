// The references for containers, written by hand over the plain list. No errors, no locks, as those of reference.h.
//
//   bare_table      a plain list for each power of two: sizes known at run time
//   bare_allocator  an allocator for containers: a static bare_list for each node size, a static bare_table for arrays
#ifndef TARN_BENCH_REFERENCE_ALLOCATOR_H_
#define TARN_BENCH_REFERENCE_ALLOCATOR_H_

#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <new>

#include "tarn/bench/reference.h"

namespace tarn_bench {

/// Blocks by size: a plain list for each power of two from 16 up, all carved from the same runs.
class bare_table {
 public:
  static constexpr std::size_t largest = 4096;

  /// Precondition: `bytes` is from 1 to `largest`.
  void* take(std::size_t bytes) {
    const std::size_t index = index_of(bytes);
    list& mine = lists_[index];
    if (void* const block = mine.head) [[likely]] {
      mine.head = *static_cast<void**>(block);
      return block;
    }
    if (mine.bump == mine.end) [[unlikely]]
      more(mine);
    char* const block = mine.bump;
    mine.bump += smallest << index;
    return block;
  }
  void give(void* block, std::size_t bytes) noexcept {
    list& mine = lists_[index_of(bytes)];
    *static_cast<void**>(block) = mine.head;
    mine.head = block;
  }

 private:
  static constexpr std::size_t smallest = 16;
  struct list {
    void* head = nullptr;
    char* bump = nullptr;
    char* end = nullptr;
  };
  static std::size_t index_of(std::size_t bytes) noexcept {
    return static_cast<std::size_t>(std::bit_width((bytes - 1) | (smallest - 1))) - 4;
  }
  [[gnu::noinline, gnu::cold]] void more(list& mine) { rest_.next(mine.bump, mine.end); }

  std::array<list, 9> lists_{};
  runs<largest, heap_source> rest_;
};

// Static objects, constant-initialised: no guard variable in front of an allocation.
template <std::size_t Bytes>
inline constinit bare_list<Bytes> static_list;
inline constinit bare_table static_table;

/// Ends all blocks of a list or table; it starts again with small chunks.
template <class Reference>
void start_anew(Reference& reference) {
  std::destroy_at(&reference);
  std::construct_at(&reference);
}

/// Hides where a pointer comes from, so that a static list is reached through a register. Addressed directly it costs 2.5
/// times as much, and that is no limit.
template <class T>
T& through_register(T& object) noexcept {
  T* address = &object;
  asm("" : "+r"(address));
  return *address;
}

/// The pool allocator that one writes for one's own containers: no state, no locks, all types of one size share a list.
template <class T>
class bare_allocator {
  static_assert(alignof(T) <= 16);

 public:
  using value_type = T;
  bare_allocator() = default;
  template <class U>
  bare_allocator(const bare_allocator<U>&) noexcept {}

  T* allocate(std::size_t n) {
    if (n == 1) [[likely]]
      return static_cast<T*>(nodes().take());
    const std::size_t bytes = n * sizeof(T);
    return static_cast<T*>(bytes <= bare_table::largest ? arrays().take(bytes) : ::operator new(bytes));
  }
  void deallocate(T* objects, std::size_t n) noexcept {
    if (n == 1) [[likely]]
      return nodes().give(objects);
    const std::size_t bytes = n * sizeof(T);
    bytes <= bare_table::largest ? arrays().give(objects, bytes) : ::operator delete(objects);
  }

  template <class U>
  friend bool operator==(const bare_allocator&, const bare_allocator<U>&) noexcept {
    return true;
  }

  static auto& nodes() noexcept {
    constexpr std::size_t word = sizeof(void*);
    return through_register(static_list<(sizeof(T) + word - 1) / word * word>);
  }
  static bare_table& arrays() noexcept { return through_register(static_table); }
};

}  // namespace tarn_bench

#endif  // TARN_BENCH_REFERENCE_ALLOCATOR_H_

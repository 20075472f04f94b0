// Where a replay's blocks come from. A generated file, compiled with the compiler and the headers of the user, lists what is
// compared:
//
//   TARN_REPLAY(1, 0, tarn::pool<tarn::static_size<48>>)   composition 0 for column 1
//
// Every column is called through pointers, also malloc, or operator new, where a plan leaves it in place. No two columns share
// a function, even if both are malloc. So every plan has the same number of targets for the processor to predict, and the same
// instructions to reach them; two plans differ only behind the pointers. A program that was changed as advised has no call
// there: what the call through the pointer takes is measured, and doesn't count for a pool. Its comparison with the block's
// size does.
#ifndef TARN_TOOLS_TARN_ADVISE_REPLAY_COLUMNS_H_
#define TARN_TOOLS_TARN_ADVISE_REPLAY_COLUMNS_H_

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include <malloc.h>

namespace tarn_advise {

/// What blocks of a column are asked of.
struct column {
  void* (*take)(void* self, std::size_t bytes, std::size_t alignment) = nullptr;
  void* (*zeroed)(void* self, std::size_t bytes, std::size_t alignment) = nullptr;
  void (*give)(void* self, void* block, std::size_t bytes, std::size_t alignment) = nullptr;
  void* self = nullptr;
};
/// A composition that a column may have.
struct choice {
  unsigned of;  // the column
  unsigned number;
  bool is_for_threads;
  column (*make)();
};
extern const choice choices[];
extern const std::size_t choice_count;

/// So that the compiler doesn't make one function of two columns', nor a jump from one to the other.
template <unsigned Column>
[[gnu::always_inline]] inline void differ() {
  asm volatile("" : : "i"(Column));
}

inline constexpr std::size_t usual_alignment = 16;  // malloc's
/// malloc aligns for every type; a type of that many bytes may need less.
inline std::size_t needed(std::size_t bytes, std::size_t alignment) {
  return alignment > usual_alignment ? alignment : std::min(bytes & (~bytes + 1), usual_alignment);
}

inline void* heap_block(std::size_t bytes, std::size_t alignment) {
  return alignment <= usual_alignment ? std::malloc(bytes) : ::memalign(alignment, bytes);
}
inline void* zeroed_heap_block(std::size_t bytes, std::size_t alignment) {
  return alignment <= usual_alignment ? std::calloc(1, bytes) : std::memset(::memalign(alignment, bytes), 0, bytes);
}

/// The malloc of the process.
template <unsigned Column>
struct heap_column {
  static void* take(void*, std::size_t bytes, std::size_t alignment) {
    differ<Column>();
    return heap_block(bytes, alignment);
  }
  static void* zeroed(void*, std::size_t bytes, std::size_t alignment) {
    differ<Column>();
    return zeroed_heap_block(bytes, alignment);
  }
  static void give(void*, void* block, std::size_t, std::size_t) {
    differ<Column>();
    std::free(block);
  }
  static column make() { return {take, zeroed, give, nullptr}; }
};

/// The same, through the program's operator new and delete, which cost a call more each.
template <unsigned Column>
struct operator_column {
  static void* take(void*, std::size_t bytes, std::size_t alignment) {
    differ<Column>();
    return alignment <= usual_alignment ? ::operator new(bytes) : ::operator new(bytes, std::align_val_t{alignment});
  }
  static void give(void*, void* block, std::size_t bytes, std::size_t alignment) {
    differ<Column>();
    if (alignment <= usual_alignment) ::operator delete(block, bytes);
    else ::operator delete(block, bytes, std::align_val_t{alignment});
  }
  static column make() { return {take, nullptr, give, nullptr}; }
};

/// Whether several threads may use it. Blocks of blocks.h say so; unknown products may not.
template <class T>
inline constexpr bool is_for_threads = [] {
  if constexpr (requires { T::traits.any_thread; }) return T::traits.any_thread;
  else return false;
}();
template <template <class...> class Product, class First, class... Others>
inline constexpr bool is_for_threads<Product<First, Others...>> = [] {
  const auto locks = []<class Policy>() {
    if constexpr (requires { Policy::traits.one_thread; }) return !Policy::traits.one_thread;
    else return false;
  };
  return (locks.template operator()<First>() || ... || locks.template operator()<Others>());
}();

template <class T>
concept has_one_size = requires(T& it) {
  it.block_size();
  it.allocate();
};
template <class T>
concept goes_back = requires(T& it) {
  it.mark();
  it.reset();
};

/// Blocks of a pool, of an allocator of any size, or of an arena, which is reset when its last block is freed.
template <unsigned Column, class T>
struct composed_column {
  static_assert(
      has_one_size<T> || requires(T& it) { it.allocate(std::size_t{1}, std::size_t{1}); },
      "tarn-advise: a composition is a pool, an arena, or has allocate(bytes, alignment)");

  T its;
  std::size_t live = 0;  // of an arena

  static bool fits([[maybe_unused]] const T& its, std::size_t bytes, std::size_t alignment) {
    if constexpr (has_one_size<T>) {
      return bytes <= its.block_size() && (alignment <= usual_alignment || alignment <= its.block_alignment());
    }
    return true;
  }
  static void* take(void* self, std::size_t bytes, std::size_t alignment) {
    differ<Column>();
    auto& [its, live] = *static_cast<composed_column*>(self);
    if (!fits(its, bytes, alignment)) return heap_block(bytes, alignment);
    if constexpr (goes_back<T>) ++live;
    if constexpr (has_one_size<T>) return its.allocate();
    else return its.allocate(bytes, needed(bytes, alignment));
  }
  static void* zeroed(void* self, std::size_t bytes, std::size_t alignment) {
    return std::memset(take(self, bytes, alignment), 0, bytes);
  }
  static void give(void* self, void* block, std::size_t bytes, std::size_t alignment) {
    differ<Column>();
    auto& [its, live] = *static_cast<composed_column*>(self);
    if (!fits(its, bytes, alignment)) return std::free(block);
    if constexpr (has_one_size<T>) {
      its.deallocate(block);
    } else if constexpr (goes_back<T>) {
      if (--live == 0) its.reset();
    } else {
      its.deallocate(block, bytes, needed(bytes, alignment));
    }
  }
  /// It is never destroyed: the process ends.
  static column make() { return {take, zeroed, give, new composed_column}; }
};

}  // namespace tarn_advise

#define TARN_REPLAY(column, number, ...) \
  {column, number, ::tarn_advise::is_for_threads<__VA_ARGS__>, ::tarn_advise::composed_column<column, __VA_ARGS__>::make}

#endif  // TARN_TOOLS_TARN_ADVISE_REPLAY_COLUMNS_H_

// Class-level operator new and delete over an allocator made of blocks:
//
//   class Node {
//     ...
//     DECLARE_MEMORY_BLOCK(Node, tarn::fall_back<tarn::buffer_block<4096>, tarn::heap_block>)
//   };
//
//   DECLARE_MEMORY_BLOCK(Class, Block)             a block of the class's own, for as many threads as the block; throws
//                                                  std::bad_alloc
//   DECLARE_MEMORY_BLOCK__NOTHROW(Class, Block)    the same, where operator new is noexcept: null where there is no memory
//
// As with DECLARE_MEMORY_POOL, other sizes than the class's and arrays come from the global operators.
// Class::memory_pool().block() is the block.
#ifndef TARN_ALLOCATOR_BLOCK_MACROS_H_
#define TARN_ALLOCATOR_BLOCK_MACROS_H_

#include <type_traits>

#include "tarn/allocator/allocator_block.h"
#include "tarn/allocator/memory_pool_macros.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// Why a class can't have the block as its own. Its assertions are made once, where this is first looked at.
template <class Class, class Block>
struct class_block_complaint {
  static constexpr bool stays = std::is_trivially_destructible_v<Block>;
  static constexpr bool can_tell = Block::traits.knows_own || std::is_final_v<Class>;
  static_assert(stays,
                "tarn: [W10] DECLARE_MEMORY_BLOCK was given a block with a destructor, such as a pool, which would run at "
                "exit, while other code still allocates; use static_pool<Tag, ...>, heap_block or buffer_block<Bytes>");
  static_assert(
      can_tell || !stays,
      "tarn: [W11] DECLARE_MEMORY_BLOCK was given a block without owns(), in a class that others may be derived from, whose "
      "size is unknown after a constructor threw; make the class final, or use a block with owns()");
};

/// A class's block, called like a pool. Constant-initialised and never destroyed.
template <class Class, class Block>
class block_of_class {
  using given_block = block_for<Block>;
  using block_type = std::conditional_t<std::is_trivially_destructible_v<given_block>, given_block, no_block>;

 public:
  static constexpr bool refuses = false;
  static block_of_class& instance() noexcept { return its; }

  /// Returns the block.
  block_type& block() noexcept { return block_; }

#if TARN_EXCEPTIONS
  void* allocate() { return block_.allocate(sizeof(Class), alignof(Class)); }
#endif
  void* try_allocate() noexcept { return block_.try_allocate(sizeof(Class), alignof(Class)); }
  void deallocate(void* object) noexcept { block_.deallocate(object, sizeof(Class), alignof(Class)); }
  bool owns(const void* object) const noexcept {
    judge();
    if constexpr (block_type::traits.knows_own) return block_.owns(object);
    else return true;
  }
  /// Called by none but owns(): the macro says it so that the error is near.
  static void judge() noexcept { [[maybe_unused]] class_block_complaint<Class, given_block> c; }

 private:
  constexpr block_of_class() = default;

  TARN_NO_UNIQUE_ADDRESS block_type block_;
  static constinit block_of_class its;
};
template <class Class, class Block>
constinit block_of_class<Class, Block> block_of_class<Class, Block>::its{};

template <class Class, class Block>
struct block_operators : operators_over<Class, block_of_class<Class, Block>> {};

}  // namespace tarn::detail

#define DECLARE_MEMORY_BLOCK(...)                                                    \
  void tarn_judge_block_() { ::tarn::detail::block_of_class<__VA_ARGS__>::judge(); } \
  TARN_MEMORY_POOL_OPERATORS(, allocate, ::tarn::detail::block_operators<__VA_ARGS__>)
#define DECLARE_MEMORY_BLOCK__NOTHROW(...)                                           \
  void tarn_judge_block_() { ::tarn::detail::block_of_class<__VA_ARGS__>::judge(); } \
  TARN_MEMORY_POOL_OPERATORS(noexcept, try_allocate, ::tarn::detail::block_operators<__VA_ARGS__>)

#endif  // TARN_ALLOCATOR_BLOCK_MACROS_H_

// Allocating blocks, and constructing objects in them; which containers have nodes.
#ifndef TARN_ALLOCATOR_DETAIL_CONSTRUCT_H_
#define TARN_ALLOCATOR_DETAIL_CONSTRUCT_H_

#include <cstdlib>
#include <new>
#include <type_traits>

#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// For callers that can't accept null: operator new, memory resources, allocators of the standard library.
/// Throws: std::bad_alloc for null. A build without exceptions aborts.
[[nodiscard]] inline void* or_fail(void* block) {
  if (block == nullptr) [[unlikely]] {
#if TARN_EXCEPTIONS
    throw std::bad_alloc();
#else
    std::abort();
#endif
  }
  return block;
}

/// As pool.allocate(request...), which may wait for a block, but returns null where that throws.
template <class Pool, class... Request>
[[nodiscard]] void* allocate_or_null(Pool& pool, Request... request) noexcept {
  if constexpr (requires { pool.allocate_or_null(request...); }) return pool.allocate_or_null(request...);
  else return pool.try_allocate(request...);
}

/// pool.allocate(request...), even in a build without exceptions.
template <class Pool, class... Request>
[[nodiscard]] void* must_allocate(Pool& pool, Request... request) {
  // With exceptions, allocate() exists and is better: it returns a hit immediately, and tests for failure only on the slow
  // path.
  if constexpr (requires { pool.allocate(request...); }) return pool.allocate(request...);
  else return detail::or_fail(allocate_or_null(pool, request...));
}

/// A map or a set, and no hash table.
template <class Container>
inline constexpr bool has_comparator = requires(const Container& its) { its.key_comp(); };
/// That, or a list.
template <class Container>
inline constexpr bool is_of_nodes = has_comparator<Container> || requires(Container& its) { its.reverse(); };

TARN_FEWER_ARGUMENTS_
/// Constructs a T in `block`. If T has no constructor for the arguments, they initialise its members.
template <class T, class... Args>
T* make_in(void* block, Args&&... args) {
  if constexpr (std::is_constructible_v<T, Args...>) return ::new (block) T(static_cast<Args&&>(args)...);
  else return ::new (block) T{static_cast<Args&&>(args)...};
}
TARN_FEWER_ARGUMENTS_END_

/// Frees a block unless it is kept, because a constructor may throw.
template <class Pool>
class unkept_block {
 public:
  unkept_block(Pool& pool, void* block) noexcept : pool_(pool), block_(block) {}
  ~unkept_block() {
    if (block_ != nullptr) pool_.deallocate(block_);
  }
  unkept_block(const unkept_block&) = delete;
  unkept_block& operator=(const unkept_block&) = delete;

  void keep() noexcept { block_ = nullptr; }

 private:
  Pool& pool_;
  void* block_;
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CONSTRUCT_H_

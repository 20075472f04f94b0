// Making objects in blocks.
#ifndef TARN_ALLOCATOR_DETAIL_CONSTRUCT_H_
#define TARN_ALLOCATOR_DETAIL_CONSTRUCT_H_

#include <new>
#include <type_traits>
#include <utility>

namespace tarn::detail {

/// Makes a T in `block`; where it has no constructor for the arguments, they are its members.
template <class T, class... Args>
T* make_in(void* block, Args&&... args) {
  if constexpr (std::is_constructible_v<T, Args...>) return ::new (block) T(std::forward<Args>(args)...);
  else return ::new (block) T{std::forward<Args>(args)...};
}

/// Gives a block back unless it is kept: a constructor may throw.
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

// The pool of blocks in a pool of objects.
#ifndef TARN_ALLOCATOR_DETAIL_OBJECT_BLOCKS_H_
#define TARN_ALLOCATOR_DETAIL_OBJECT_BLOCKS_H_

#include <cstddef>
#include <type_traits>

namespace tarn::detail {

/// As Pool, but without what would make for_each(), clear() and the destructor take a block for an object that there isn't.
template <class Pool>
class object_blocks : public Pool {
 public:
  using Pool::Pool;

  template <class Never = void>
  bool reserve_blocks(std::size_t) {
    static_assert(!std::is_void_v<Never>, "tarn: [O7] a reserved block is no object; use a pool<size_of<T>>");
    return false;
  }
  template <class Never = void>
  bool try_reserve_blocks(std::size_t blocks) {
    return reserve_blocks<Never>(blocks);
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_OBJECT_BLOCKS_H_

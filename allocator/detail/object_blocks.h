// The pool of blocks in a pool of objects.
#ifndef TARN_ALLOCATOR_DETAIL_OBJECT_BLOCKS_H_
#define TARN_ALLOCATOR_DETAIL_OBJECT_BLOCKS_H_

#include <cstddef>

#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// As Pool, but without what would make for_each(), clear() and the destructor take a block for an object that there isn't.
template <class Pool>
class object_blocks : public Pool {
 public:
  using Pool::Pool;

  // In one line each, which is what a compiler shows.
  void reserve_blocks(std::size_t) = TARN_DELETED("tarn: [O7] a reserved block is no object; use a pool<size_of<T>>");
  void try_reserve_blocks(std::size_t) = TARN_DELETED("tarn: [O7] a reserved block is no object; use a pool<size_of<T>>");
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_OBJECT_BLOCKS_H_

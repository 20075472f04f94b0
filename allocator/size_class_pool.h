// A pool of blocks of many sizes: each request goes to the pool of its size class, and a larger request to the store.
//
//   tarn::size_class_pool<> blocks;
//   void* block = blocks.allocate(100);
//   blocks.deallocate(block, 100);
//
// It takes the policies of pool<...> in any order, with classes instead of a size: geometric_classes<> by default.
// With a bounded store, which has one region, all classes share it in granules of 16 KiB: static_array_store<Blocks> means that
// many granules.
#ifndef TARN_ALLOCATOR_SIZE_CLASS_POOL_H_
#define TARN_ALLOCATOR_SIZE_CLASS_POOL_H_

#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/classes/class_stores.h"
#include "tarn/allocator/detail/classes/select_classes.h"
#include "tarn/allocator/detail/classes/size_class_body.h"
#include "tarn/allocator/detail/compose/select.h"
#include "tarn/policies/platform/config.h"

namespace tarn {

/// A pool for each size class; a larger request goes to the store:
///
///   allocate(bytes, alignment), try_allocate, deallocate(block, bytes, alignment)    blocks
///   class_size(bytes, alignment), owns(address)                                      questions
///   reserve(blocks, bytes, alignment), try_reserve, trim(), release(), reset()       chunks
///
/// Its destructor returns everything, including blocks still in use.
template <class... Policies>
class size_class_pool : public detail::class_body_of<Policies...> {
  using body = detail::class_body_of<Policies...>;

 public:
  /// As of a basic_pool.
  template <class... Given>
  constexpr explicit(sizeof...(Given) == 1) size_class_pool(const Given&... given) noexcept
      : body(detail::accept_values<typename detail::class_selection<Policies...>::values>(given...)) {}

  size_class_pool(const size_class_pool&) = TARN_DELETED("tarn: [C14] a pool can't be copied or moved; take a reference");
  void operator=(const size_class_pool&) = TARN_DELETED("tarn: [C14] a pool can't be copied or moved; take a reference");
  ~size_class_pool() { this->end(); }
};

}  // namespace tarn

#endif  // TARN_ALLOCATOR_SIZE_CLASS_POOL_H_

// The smart pointer of an object_pool. It doesn't need the pool's header, so that objects can own others of their own pool:
//
//   struct node {
//     tarn::object_ptr<node> next;       what tarn::object_pool<node>::make_unique() returns
//   };
#ifndef TARN_ALLOCATOR_OBJECT_PTR_H_
#define TARN_ALLOCATOR_OBJECT_PTR_H_

#include <memory>

#include "tarn/policies/platform/config.h"

namespace tarn {

template <class T, class... Policies>
class object_pool;

/// Destroys an object in its pool. T may be incomplete until then.
template <class T, class... Policies>
class object_deleter {
 public:
  /// For objects of that pool, which must outlive it.
  constexpr explicit object_deleter(object_pool<T, Policies...>* pool = nullptr) noexcept : pool_(pool) {}
  /// Destroys the object. Precondition: as for object_pool::destroy().
  void operator()(T* object) const noexcept { pool_->destroy(object); }

 private:
  object_pool<T, Policies...>* pool_;
};

/// Owns an object of an object_pool, which must outlive it.
template <class T, class... Policies>
using object_ptr = std::unique_ptr<T, object_deleter<T, Policies...>>;

}  // namespace tarn

#endif  // TARN_ALLOCATOR_OBJECT_PTR_H_

// The smart pointer of an object_pool, and the handle to an object in one. They name the pool's type and don't need its header,
// so that objects can own others of their own pool:
//
//   struct node {
//     tarn::object_ptr<node> next;       what tarn::object_pool<node>::make_unique() returns
//   };
#ifndef TARN_ALLOCATOR_OBJECT_PTR_H_
#define TARN_ALLOCATOR_OBJECT_PTR_H_

#include <cstdint>
#include <memory>

#include "tarn/policies/platform/config.h"

namespace tarn {

template <class T, class... Policies>
class object_pool;

/// Ends an object where it came from. T may be incomplete until then.
template <class T, class... Policies>
class object_deleter {
 public:
  /// For objects of that pool, which must outlive it.
  constexpr explicit object_deleter(object_pool<T, Policies...>* pool = nullptr) noexcept : pool_(pool) {}
  /// Destroys the object. Precondition: the pool constructed it, and it was not destroyed since.
  void operator()(T* object) const noexcept { pool_->destroy(object); }

 private:
  object_pool<T, Policies...>* pool_;
};

/// Owns an object of an object_pool<T, Policies...>, which must outlive it.
template <class T, class... Policies>
using object_ptr = std::unique_ptr<T, object_deleter<T, Policies...>>;

/// A handle to an object in a pool: the object's address and a generation number. A stale handle finds nothing, even when
/// another object lies at that address, in this pool or in one that came later:
///
///   tarn::object_pool<Order, tarn::hardened_with<tarn::generations>> orders;
///   tarn::handle<Order> h = orders.handle_to(orders.construct(1, 9.5));
///   if (Order* o = orders.get(h)) ...          null once it was destroyed
///   orders.destroy(h);                         true; and false the second time
///
/// 16 bytes, copied like a pointer. Empty by default. Returned by object_pool::handle_to(), and valid only for that pool.
template <class T>
class handle {
 public:
  /// An empty handle.
  constexpr handle() noexcept = default;
  /// Whether it isn't empty. The object may have been destroyed: object_pool::get() says that.
  constexpr explicit operator bool() const noexcept { return generation_ != 0; }
  /// Whether both are handles to the same use of a block, or both are empty.
  friend constexpr bool operator==(const handle&, const handle&) noexcept = default;

 private:
  template <class, class...>
  friend class object_pool;
  constexpr handle(T* place, std::uint64_t generation) noexcept : place_(place), generation_(generation) {}

  T* place_ = nullptr;
  std::uint64_t generation_ = 0;  // 0: empty
};

}  // namespace tarn

#endif  // TARN_ALLOCATOR_OBJECT_PTR_H_

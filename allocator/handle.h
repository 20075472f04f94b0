// A handle to an object in a pool: the object's address and a generation number. A stale handle finds nothing, even if another
// object is at that address, in this pool or in a later one:
//
//   tarn::object_pool<Order, tarn::hardened_with<tarn::generations>> orders;
//   tarn::handle<Order> h = orders.handle_to(orders.construct(1, 9.5));
//   if (Order* o = orders.get(h)) ...          null once it was destroyed
//   orders.destroy(h);                         true; and false the second time
#ifndef TARN_ALLOCATOR_HANDLE_H_
#define TARN_ALLOCATOR_HANDLE_H_

#include <cstdint>

#include "tarn/policies/platform/config.h"

namespace tarn {

template <class T, class... Policies>
class object_pool;

/// 16 bytes, copied like a pointer. Empty by default. Returned by object_pool::handle_to(), and valid only for that pool.
template <class T>
class handle {
 public:
  /// An empty handle.
  constexpr handle() noexcept = default;
  /// Whether it isn't empty. The object may have been destroyed; object_pool::get() checks that.
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

#endif  // TARN_ALLOCATOR_HANDLE_H_

// A handle of an object in a pool: its place, and which use of that place it is. What a stale handle named is gone, and stays
// gone when the place is used again:
//
//   tarn::object_pool<Order, tarn::hardened_with<tarn::generations>> orders;
//   tarn::handle<Order> h = orders.handle_to(orders.construct(1, 9.5));
//   if (Order* o = orders.get(h)) ...          null once it was destroyed
//   orders.destroy(h);                         true; and false the second time
#ifndef TARN_ALLOCATOR_HANDLE_H_
#define TARN_ALLOCATOR_HANDLE_H_

#include <cstdint>

namespace tarn {

template <class T, class... Policies>
class object_pool;

/// 16 bytes, copied as a pointer is. Empty when new. Made by object_pool::handle_to(), and of use to that pool only: another
/// doesn't know it.
template <class T>
class handle {
 public:
  constexpr handle() noexcept = default;
  constexpr explicit operator bool() const noexcept { return generation_ != 0; }
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

// tarn as an allocator of the standard library.
//
//   std::list<int, tarn::stl_allocator<int>> l;                                             shared static pools
//
//   tarn::size_class_pool<> blocks;
//   std::list<int, tarn::stl_allocator<int, tarn::size_class_pool<>>> m(blocks);            your own pool
//
// A container rebinds its allocator to its node type, so you need not know a block size. containers.h has names for the first
// kind.
#ifndef TARN_ALLOCATOR_STL_ALLOCATOR_H_
#define TARN_ALLOCATOR_STL_ALLOCATOR_H_

#include <concepts>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <version>

#include "tarn/allocator/detail/construct.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/policies/axis.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/standard_allocator.h"

namespace tarn {

/// What an stl_allocator can refer to, such as a size_class_pool or a std::pmr::memory_resource: blocks by size and alignment.
template <class S>
concept sized_source = !policy<S> && requires(S& source, void* block, std::size_t n) {
  source.deallocate(block, n, n);
} && (requires(S& source, std::size_t n) {
  { source.allocate(n, n) } -> std::same_as<void*>;
} || requires(S& source, std::size_t n) {  // a pool in a build without exceptions
  { source.try_allocate(n, n) } -> std::same_as<void*>;
});

namespace detail {

struct stl_pools;  // the tag

/// T has nothing to do with it, but compilers answer a question about the same types only once, and S may be defined later.
template <class T, class S>
concept defined_for = requires {
  typename std::type_identity<T>;
  sizeof(S);
};
/// A source that is only declared where a container over it is named, as in a header. Whether it serves is seen when it's used.
template <class T, class S>
concept declared_source = std::is_class_v<S> && !std::is_same_v<S, resource_store> && !defined_for<T, S>;

template <class T, class S>
concept allocator_source = declared_source<T, S> || sized_source<S>;

template <class Source>
struct source_complaint {
  static constexpr bool serves = sized_source<Source>;
  static_assert(serves,
                "tarn: [I3] the source that stl_allocator takes memory from is only declared, or isn't a source; include the "
                "header that defines it");
};

/// Containers allocate nodes one by one, and mostly in the order in which they freed them. With the plain list std::list takes
/// 3.1 ns an element and std::map 25.6; with the front 4.4 and 27.6 (10,000 elements, Xeon with AMX).
template <class... Ps>
using stl_policies =
    typename policy_list<Ps...>::template with_default<axis::locking, default_sharing<Ps...>>::template with_default<
        axis::reuse, lifo_reuse<>>;

/// What says that policies are wrong whatever the size is. Containers are named long before they take memory.
template <class Pool>
struct said_at_once : std::type_identity<no_complaint> {};
template <class... Complaints>
struct said_at_once<rejected<Complaints...>> : std::type_identity<rejected<Complaints...>> {};
template <class T, class... Ps>
constexpr auto judge_for_containers() noexcept {
  if constexpr (!(defined_for<T, Ps> && ...)) return std::type_identity<no_complaint>{};
  else return said_at_once<typename stl_policies<Ps...>::template into<composed, by_product<static_size<sizeof(void*)>>>>{};
}

/// The bytes of `n` objects. Throws: std::bad_array_new_length if that is too large.
template <class T>
constexpr std::size_t bytes_of(std::size_t n) {
  if (n > static_cast<std::size_t>(-1) / 2 / sizeof(T)) [[unlikely]] {
#if TARN_EXCEPTIONS
    throw std::bad_array_new_length();
#else
    std::abort();
#endif
  }
  return n * sizeof(T);
}

/// For how many objects there is room if `n` were requested, in a block of `class_bytes`. One alone is a node: in no class.
template <class T>
constexpr std::size_t room_for(std::size_t n, std::size_t class_bytes) noexcept {
  return n < 2 || class_bytes == 0 ? n : class_bytes / sizeof(T);
}

}  // namespace detail

/// Allocates single objects, as nodes are, from a static pool that all types of equal size and alignment share; arrays from
/// static pools by size class, or from the store if they are large. All are equal. In constant expressions it uses
/// std::allocator.
/// \tparam Policies  as for static_pool, without a size; by default shared_locking and lifo_reuse<>. Use no_locking if all
///                   containers of these policies are on one thread, batch_reuse<> for millions of nodes
template <class T, class... Policies>
class stl_allocator {
  static_assert(sizeof(typename decltype(detail::judge_for_containers<T, Policies...>())::type) != 0);

 public:
  /// As the standard requires of an allocator.
  using value_type = T;
  using is_always_equal = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;

  constexpr stl_allocator() noexcept = default;
  template <class U>
  constexpr stl_allocator(const stl_allocator<U, Policies...>&) noexcept {}
  /// From another type's allocator, a source, or (not for use) a pool of one size, which causes one error that says so.
  template <class Pool>
    requires(detail::one_of<Pool, Policies...> && !policy<Pool>)
  constexpr stl_allocator(Pool&) noexcept {}

  /// Returns room for `n` objects.
  /// Throws: std::bad_array_new_length if that is too large, std::bad_alloc if the store has no memory.
  [[nodiscard]] constexpr T* allocate(std::size_t n) {
    if (std::is_constant_evaluated()) return std::allocator<T>().allocate(n);
    if (n == 1) [[likely]]
      return static_cast<T*>(detail::must_allocate(node_pool()));
    return static_cast<T*>(detail::must_allocate(array_pool(), detail::bytes_of<T>(n), alignof(T)));
  }
#ifdef __cpp_lib_allocate_at_least
  /// As allocate(); also returns for how many objects there is room. deallocate() takes any number from `n` to that.
  [[nodiscard]] constexpr std::allocation_result<T*> allocate_at_least(std::size_t n) {
    T* const objects = allocate(n);
    if (std::is_constant_evaluated()) return {objects, n};
    return {objects, detail::room_for<T>(n, array_pool().class_size(n * sizeof(T), alignof(T)))};
  }
#endif
  /// Precondition: allocate(n) returned `objects`; or they are null, and `n` is 0, as in libc++'s containers.
  constexpr void deallocate(T* objects, std::size_t n) noexcept {
    if (std::is_constant_evaluated()) return std::allocator<T>().deallocate(objects, n);
    if (n == 1) [[likely]]
      return node_pool().deallocate(objects);
    array_pool().deallocate(objects, n * sizeof(T), alignof(T));
  }

  /// Returns true.
  template <class U>
  friend constexpr bool operator==(const stl_allocator&, const stl_allocator<U, Policies...>&) noexcept {
    return true;
  }

 private:
  using policies = detail::stl_policies<Policies...>;
  template <class... Ps>
  using arrays = detail::static_classes<detail::stl_pools, 0, Ps...>;
  template <class... Ps>
  static constexpr auto without_size(detail::policy_types<Ps...>) -> detail::stl_policies<Ps...>;

  // Code that depends on T's size is in here, because T may be incomplete where the class is used.
  static auto& node_pool() noexcept {
    constexpr std::size_t least = detail::choose<axis::reuse, lifo_reuse<>, Policies...>::traits.min_block;
    using node = detail::by_product<static_size<(sizeof(T) > least ? sizeof(T) : least), alignof(T)>>;
    return policies::template into<static_pool, detail::stl_pools, node>::instance();
  }
  static auto& array_pool() noexcept {
    using sizeless = decltype(without_size(typename detail::sizeless<detail::policy_types<>, Policies...>::type{}));
    return sizeless::template into<arrays>::instance();  // who named a size was told by node_pool()
  }
};

/// Allocates from the source passed to its constructor, which must outlive it, and may be only declared until memory is
/// allocated. Equal if they have the same source. A copied container uses the same source; copy assignment keeps the target's;
/// moving and swapping take the source along, in constant time.
template <class T, class Source>
  requires detail::allocator_source<T, Source>
class stl_allocator<T, Source> {
 public:
  /// As the standard requires of an allocator.
  using value_type = T;
  using is_always_equal = std::false_type;
  using propagate_on_container_copy_assignment = std::false_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  constexpr stl_allocator(Source& source) noexcept : source_(detail::pointer_to(source)) {}
  template <class U>
  constexpr stl_allocator(const stl_allocator<U, Source>& other) noexcept : source_(detail::pointer_to(other.source())) {}

  [[nodiscard]] constexpr T* allocate(std::size_t n) {
    if constexpr (sized_source<Source>) {
      if (std::is_constant_evaluated()) return std::allocator<T>().allocate(n);
      return static_cast<T*>(detail::must_allocate(*source_, detail::bytes_of<T>(n), alignof(T)));
    } else {
      [[maybe_unused]] detail::source_complaint<Source> c;
      return nullptr;
    }
  }
#ifdef __cpp_lib_allocate_at_least
  /// As allocate(); if the source has size classes, there may be room for more than `n`.
  [[nodiscard]] constexpr std::allocation_result<T*> allocate_at_least(std::size_t n) {
    T* const objects = allocate(n);
    if (std::is_constant_evaluated()) return {objects, n};
    if constexpr (requires(std::size_t b) { Source::class_size(b, b); })
      return {objects, detail::room_for<T>(n, Source::class_size(n * sizeof(T), alignof(T)))};
    else return {objects, n};
  }
#endif
  /// Precondition: allocate(n) returned `objects`; or they are null, and `n` is 0, as in libc++'s containers.
  constexpr void deallocate(T* objects, std::size_t n) noexcept {
    if (n == 0 && objects == nullptr) return;
    if (std::is_constant_evaluated()) return std::allocator<T>().deallocate(objects, n);
    if constexpr (sized_source<Source>) source_->deallocate(objects, n * sizeof(T), alignof(T));
    else [[maybe_unused]] detail::source_complaint<Source> c;
  }

  /// Returns the source.
  constexpr Source& source() const noexcept { return *source_; }

  /// Returns whether they have the same source.
  template <class U>
  friend constexpr bool operator==(const stl_allocator& a, const stl_allocator<U, Source>& b) noexcept {
    return detail::pointer_to(a.source()) == detail::pointer_to(b.source());
  }

 private:
  Source* source_;
};

}  // namespace tarn

#endif  // TARN_ALLOCATOR_STL_ALLOCATOR_H_

// A list, map or set of at most N elements whose nodes are in the object itself: no heap.
//
//   tarn::fixed_container<std::list<int>, 100> l;            std::bad_alloc for the 101st
//   tarn::fixed_container<std::map<int, double>, 20> m;
//
// containers.h has names for them: fixed_list<int, 100>. How large a node is, the standard library decides;
// measure_node() finds it out when the program is compiled.
#ifndef TARN_ALLOCATOR_FIXED_CONTAINER_H_
#define TARN_ALLOCATOR_FIXED_CONTAINER_H_

#include <cstddef>
#include <initializer_list>
#include <type_traits>

#include "tarn/allocator/detail/compose/select.h"
#include "tarn/allocator/detail/construct.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/size.h"
#include "tarn/policies/store.h"

namespace tarn::detail {

// ---- how large a node of a container is ----------------------------------------------------------------------------------
//
// A container holds an allocator for its nodes. An allocator as large as N nodes makes the container larger by that, and one of
// 2 N nodes by twice that. The difference of the two sizes is N nodes, and nothing else.

enum class measured { size, alignment };

/// An allocator that is as large as `Times` objects, or as their alignment `Times` times. No container of it is made.
template <class T, class Element, measured What, std::size_t Times>
struct node_measure {
  using value_type = T;
  template <class U>
  struct rebind {
    using other = node_measure<U, Element, What, Times>;
  };

  node_measure() noexcept;
  template <class U>
  node_measure(const node_measure<U, Element, What, Times>&) noexcept;
  T* allocate(std::size_t);
  void deallocate(T*, std::size_t) noexcept;
  friend bool operator==(const node_measure&, const node_measure&) noexcept { return true; }

 private:
  static constexpr std::size_t bytes() noexcept {
    if constexpr (std::is_same_v<T, Element> || std::is_pointer_v<T>) return 1;  // not for nodes
    else return What == measured::size ? Times * sizeof(T) : Times * alignof(T);
  }
  std::byte room_[bytes()];
};

/// The container with another allocator.
template <class Container, class Allocator>
struct with_allocator;
template <template <class...> class Template, class... Args, class Allocator>
struct with_allocator<Template<Args...>, Allocator> {
  template <class Arg>
  using replaced = std::conditional_t<std::is_same_v<Arg, typename Template<Args...>::allocator_type>, Allocator, Arg>;
  using type = Template<replaced<Args>...>;
};

/// In bytes; 0: it holds no allocator for nodes.
/// \tparam Container  of the standard library, with any allocator
template <class Container, measured What>
constexpr std::size_t measure_node() noexcept {
  using element = typename Container::value_type;
  constexpr std::size_t times = 64;  // so that nothing is padded
  using smaller = typename with_allocator<Container, node_measure<element, element, What, times>>::type;
  using larger = typename with_allocator<Container, node_measure<element, element, What, 2 * times>>::type;
  return (sizeof(larger) - sizeof(smaller)) / times;
}

}  // namespace tarn::detail

namespace tarn {

template <class T, class Pool>
class fixed_allocator;

namespace detail {

template <bool OfNodes>
struct fixed_complaint {
  static_assert(
      OfNodes,
      "tarn: [Q4] fixed_container was given something that isn't a list, map or set, so it has no nodes whose number could be "
      "fixed; use std::array, or a container over a size_class_pool<static_array_store<N>>");
};
template <class Container, std::size_t N, class... Policies>
constexpr auto judge_fixed() noexcept {
  constexpr bool of_nodes = is_of_nodes<Container>;
  if constexpr (of_nodes)
    return std::type_identity<
        pool<by_product<static_size<measure_node<Container, measured::size>(), measure_node<Container, measured::alignment>()>>,
             static_array_store<N>, Policies...>>{};
  else return std::type_identity<rejected<fixed_complaint<of_nodes>>>{};
}

template <class Container, std::size_t N, class... Policies>
using fixed_pool = typename decltype(judge_fixed<Container, N, Policies...>())::type;
template <class Container, class Pool>
using with_fixed_nodes = typename with_allocator<Container, fixed_allocator<typename Container::value_type, Pool>>::type;

/// The nodes, which must be there before the container and after it.
template <class Pool>
struct fixed_nodes {
  Pool pool;
};

}  // namespace detail

/// The allocator of a fixed_container: takes nodes from the array in it. Equal if they refer to the same array, which
/// containers never pass on.
/// \tparam Pool  of the nodes
template <class T, class Pool>
class fixed_allocator {
 public:
  /// As the standard requires of an allocator.
  using value_type = T;
  using is_always_equal = std::false_type;
  using propagate_on_container_copy_assignment = std::false_type;
  using propagate_on_container_move_assignment = std::false_type;
  using propagate_on_container_swap = std::false_type;

  /// \param nodes  must outlive the allocator and its copies
  constexpr explicit fixed_allocator(Pool& nodes) noexcept : nodes_(detail::pointer_to(nodes)) {}
  template <class U>
  constexpr fixed_allocator(const fixed_allocator<U, Pool>& other) noexcept : nodes_(detail::pointer_to(other.nodes())) {}

  /// Returns room for a node. Throws: std::bad_alloc if all are in use, `count` isn't 1, or T isn't the node.
  [[nodiscard]] T* allocate(std::size_t count) {
    if (count != 1 || !is_node()) [[unlikely]]
      return static_cast<T*>(detail::or_fail(nullptr));
    return static_cast<T*>(detail::must_allocate(*nodes_));
  }
  /// Precondition: allocate() of an equal one returned the node.
  void deallocate(T* node, std::size_t) noexcept { nodes_->deallocate(node); }

  /// Returns how many nodes there are, free and in use.
  std::size_t max_size() const noexcept { return nodes_->capacity(); }
  /// Returns the nodes.
  constexpr Pool& nodes() const noexcept { return *nodes_; }

  /// Returns whether they have the same nodes.
  template <class U>
  friend constexpr bool operator==(const fixed_allocator& a, const fixed_allocator<U, Pool>& b) noexcept {
    return detail::pointer_to(a.nodes()) == detail::pointer_to(b.nodes());
  }

 private:
  static constexpr bool is_node() noexcept { return sizeof(T) <= Pool::block_size() && alignof(T) <= Pool::block_alignment(); }

  Pool* nodes_;
};

/// A container of at most N elements whose nodes are in it, with all members of Container. An insertion without a free node
/// throws std::bad_alloc and changes nothing. Moving and swapping move each element, O(N); what was moved from is empty. Nodes
/// can't be spliced, merged or extracted into another container.
/// \tparam Container  a list, map or set of the standard library; its allocator is replaced
/// \tparam N          at least 1
/// \tparam Policies   as for pool<...>, without a size and a store
template <class Container, std::size_t N, class... Policies>
class fixed_container : detail::fixed_nodes<detail::fixed_pool<Container, N, Policies...>>,
                        public detail::with_fixed_nodes<Container, detail::fixed_pool<Container, N, Policies...>> {
  using pool_type = detail::fixed_pool<Container, N, Policies...>;
  using nodes = detail::fixed_nodes<pool_type>;
  using base = detail::with_fixed_nodes<Container, pool_type>;
  using allocator = fixed_allocator<typename Container::value_type, pool_type>;

 public:
  /// Empty.
  fixed_container() : base(allocator(nodes::pool)) {}
  /// As Container's constructors.
  template <class... Args>
    requires(sizeof...(Args) != 0 && std::is_constructible_v<base, Args..., const allocator&>)
  explicit(sizeof...(Args) == 1) fixed_container(Args&&... args) : base(static_cast<Args&&>(args)..., allocator(nodes::pool)) {}
  fixed_container(std::initializer_list<typename Container::value_type> elements) : fixed_container() { *this = elements; }
  template <class Compare>
    requires std::is_constructible_v<base, std::initializer_list<typename base::value_type>, const Compare&, const allocator&>
  fixed_container(std::initializer_list<typename base::value_type> elements, const Compare& its)
      : base(elements, its, allocator(nodes::pool)) {}
  /// Element by element. Throws: what the elements throw.
  fixed_container(const fixed_container& other) : nodes(), base(other, allocator(nodes::pool)) {}
  fixed_container(fixed_container&& other) : nodes(), base(static_cast<base&&>(other), allocator(nodes::pool)) {
    (other.clear)();
  }
  /// Element by element. Return the container. Throws: what the elements throw.
  fixed_container& operator=(const fixed_container& other) {
    base::operator=(other);
    return *this;
  }
  fixed_container& operator=(fixed_container&& other) {
    if (this == &other) return *this;
    base::operator=(static_cast<base&&>(other));
    (other.clear)();
    return *this;
  }
  fixed_container& operator=(std::initializer_list<typename Container::value_type> elements) {
    base::operator=(elements);
    return *this;
  }
  ~fixed_container() = default;

  /// Element by element. Throws: what the elements throw.
  void swap(fixed_container& other) {
    fixed_container kept(static_cast<fixed_container&&>(other));
    other = static_cast<fixed_container&&>(*this);
    *this = static_cast<fixed_container&&>(kept);
  }
  friend void swap(fixed_container& a, fixed_container& b) { a.swap(b); }

  /// Returns N.
  static constexpr std::size_t capacity() noexcept { return N; }
};

}  // namespace tarn

#endif  // TARN_ALLOCATOR_FIXED_CONTAINER_H_

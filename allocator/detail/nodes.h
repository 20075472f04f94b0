// Containers of nodes: which are, and how large their nodes are.
#ifndef TARN_ALLOCATOR_DETAIL_NODES_H_
#define TARN_ALLOCATOR_DETAIL_NODES_H_

#include <cstddef>
#include <type_traits>

namespace tarn::detail {

/// A map or a set, and no hash table.
template <class Container>
inline constexpr bool has_comparator = requires(const Container& its) { its.key_comp(); };
/// That, or a list.
template <class Container>
inline constexpr bool is_of_nodes = has_comparator<Container> || requires(Container& its) { its.reverse(); };

// How large a node of a container is.
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

#endif  // TARN_ALLOCATOR_DETAIL_NODES_H_

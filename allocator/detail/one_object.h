// What a pool of objects asks of a type.
#ifndef TARN_ALLOCATOR_DETAIL_ONE_OBJECT_H_
#define TARN_ALLOCATOR_DETAIL_ONE_OBJECT_H_

#include <cstddef>
#include <type_traits>

namespace tarn::detail {

// Of a type that is only declared nothing is said here: size_of<T> refuses it.
template <class T>
concept abstract_class = requires { sizeof(T); } && std::is_abstract_v<T>;
template <class T>
concept throws_at_its_end = requires { sizeof(T); } && !std::is_nothrow_destructible_v<T>;

template <class T>
inline constexpr bool is_one_object = std::is_object_v<T> && !std::is_array_v<T> && !abstract_class<T>;

/// After a complaint: the members of what stands in for the pool. They do nothing.
template <bool Holds, class T>
struct object_complaint {
  static_assert(Holds,
                "tarn: [O1] object_pool was given an array, a reference, a function, void or an abstract class, which it can't "
                "construct; name the type of one object");
  static constexpr bool has_destructors = false;
  static constexpr bool may_return_chunks = true;
  static constexpr bool waits = true;

  template <class... Anything>
  std::decay_t<T>* construct(Anything&&...) noexcept {
    return nullptr;
  }
  template <class... Anything>
  std::decay_t<T>* try_construct(Anything&&...) noexcept {
    return nullptr;
  }
  template <class... Anything>
  std::decay_t<T>* construct_within(Anything&&...) noexcept {
    return nullptr;
  }
  void destroy(const volatile void*) noexcept {}
  template <class... Anything>
  void construct_n(const Anything&...) noexcept {}
  template <class... Anything>
  std::size_t try_construct_n(const Anything&...) noexcept {
    return 0;
  }
  template <class... Anything>
  std::size_t construct_n_within(const Anything&...) noexcept {
    return 0;
  }
  template <class Anything>
  void destroy_n(const Anything&) noexcept {}
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_ONE_OBJECT_H_

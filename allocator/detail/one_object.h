// What a pool of objects asks of a type.
#ifndef TARN_ALLOCATOR_DETAIL_ONE_OBJECT_H_
#define TARN_ALLOCATOR_DETAIL_ONE_OBJECT_H_

#include <type_traits>

namespace tarn::detail {

// Of a type that is only declared nothing is said here: size_of<T> refuses it.
template <class T>
concept abstract_class = requires { sizeof(T); } && std::is_abstract_v<T>;
template <class T>
concept throws_at_its_end = requires { sizeof(T); } && !std::is_nothrow_destructible_v<T>;

template <class T>
inline constexpr bool is_one_object = std::is_object_v<T> && !std::is_array_v<T> && !abstract_class<T>;

template <bool Holds>
struct object_complaint {
  static_assert(Holds,
                "tarn: [O1] object_pool was given an array, a reference, a function, void or an abstract class, which it can't "
                "construct; name the type of one object");
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_ONE_OBJECT_H_

// A pool for each of several types, known at compile time:
//
//   tarn::multipool<Wall, Door, Key> things;
//   Door* d = things.construct<Door>(oak);
//   things.destroy(d);
//
#ifndef TARN_ALLOCATOR_MULTIPOOL_H_
#define TARN_ALLOCATOR_MULTIPOOL_H_

#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tarn/allocator/detail/compose/select.h"
#include "tarn/allocator/detail/pool/waiting.h"
#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/policies/axis.h"
#include "tarn/policies/platform/config.h"

namespace tarn {

namespace detail {

template <bool Known>
struct multipool_complaint {
  static_assert(Known,
                "tarn: [M1] multipool<...> was asked for a type that isn't in its list; add the type, or use the object's own "
                "type");
};
template <bool Distinct>
struct multipool_list_complaint {
  static_assert(Distinct, "tarn: [M2] multipool<...> lists a type twice, but finds each pool by its type; list each type once");
};

template <class T, class Policies>
struct object_pool_with;
template <class T, class... Policies>
struct object_pool_with<T, std::tuple<std::type_identity<Policies>...>> {
  using type = object_pool<T, Policies...>;
};

/// The arguments of a multipool that are of one kind.
template <bool Policies, class... Args>
using kind_of = decltype(std::tuple_cat(
    std::declval<std::conditional_t<policy<Args> == Policies, std::tuple<std::type_identity<Args>>, std::tuple<>>>()...));

/// After a complaint: replaces the pool of a type that has none. Never used.
template <class T>
inline rejected_objects<T, rejected<>> missing_object_pool;

template <class Types, class Policies>
struct object_pools;
template <class... Ts, class Policies>
struct object_pools<std::tuple<std::type_identity<Ts>...>, Policies> {
  static constexpr bool distinct = ((times_given<Ts, Ts...> == 1) && ...);
  using type = std::tuple<typename object_pool_with<Ts, Policies>::type...>;
  static constexpr bool may_return_chunks = (object_pool_with<Ts, Policies>::type::may_return_chunks && ...);
  static constexpr bool waits = (object_pool_with<Ts, Policies>::type::waits && ...);
  template <class T>
  static constexpr bool has = one_of<T, Ts...>;
  template <class T>
  using pool_of = typename object_pool_with<T, Policies>::type;
};

}  // namespace detail

/// An object_pool for each of several types, known at compile time. Members call the type's pool: construct<T>(arguments),
/// destroy(object) of exactly that T; clear() all.
/// \tparam Args  object types, each with its own pool; and policies, in any order, which all pools share
template <class... Args>
class multipool {
  using pools = detail::object_pools<detail::kind_of<false, Args...>, detail::kind_of<true, Args...>>;
  static_assert(sizeof(detail::multipool_list_complaint<pools::distinct>) != 0);
  static constexpr bool has_defaults = ((!policy<Args> || std::default_initializable<Args>) && ...);  // no policy is given
  static_assert(sizeof(detail::value_complaint<has_defaults ? detail::giving::good : detail::giving::missing>) != 0);

 public:
  /// Empty pools.
  multipool() = default;
  multipool(const multipool&) = TARN_DELETED("tarn: [C14] a pool can't be copied or moved; take a reference");
  multipool& operator=(const multipool&) = TARN_DELETED("tarn: [C14] a pool can't be copied or moved; take a reference");
  /// Destroys the objects that are left.
  ~multipool() { clear_from<0>(); }

#if TARN_EXCEPTIONS
  /// As of an object_pool.
  template <class T, class... Arguments>
  [[nodiscard]] T* construct(Arguments&&... arguments) {
    return pool_of<T>().construct(std::forward<Arguments>(arguments)...);
  }
#endif
  /// As of an object_pool.
  template <class T, class... Arguments>
  [[nodiscard]] T* try_construct(Arguments&&... arguments) {
    return pool_of<T>().try_construct(std::forward<Arguments>(arguments)...);
  }
  /// As of an object_pool.
  template <class T, detail::time_span Duration, class... Arguments>
  [[nodiscard]] T* construct_within(const Duration& timeout, Arguments&&... arguments)
    requires(pools::waits)
  {
    return pool_of<T>().construct_within(timeout, std::forward<Arguments>(arguments)...);
  }
  /// As of an object_pool.
  template <class T>
  void destroy(T* object) noexcept {
    pool_of<T>().destroy(object);
  }
  /// Frees all memory of all pools. No destructor runs. Precondition: no other thread uses the pools.
  void release_all() noexcept
    requires(pools::may_return_chunks)
  {
    std::apply([](auto&... each) { (each.release(), ...); }, pools_);
  }
  /// As of an object_pool.
  void (clear)() noexcept {
    clear_from<0>();
    std::apply([](auto&... each) { ((each.clear)(), ...); }, pools_);  // also objects without a destructor
  }

  /// Returns the object_pool of T.
  template <class T>
  auto& pool_of() noexcept {
    if constexpr (!pools::distinct) {
      return detail::missing_object_pool<T>;  // M2 was reported
    } else if constexpr (pools::template has<T>) {
      return std::get<typename pools::template pool_of<T>>(pools_);
    } else {
      [[maybe_unused]] detail::multipool_complaint<pools::template has<T>> c;
      return detail::missing_object_pool<T>;
    }
  }

 private:
  /// The objects of pool `I` and of the pools after it. No pool forgets which objects it destroyed before all are done: all[i]
  /// destroys them.
  template <std::size_t I, class... Endings>
  void clear_from(Endings&... all) noexcept {
    if constexpr (I == std::tuple_size_v<typename pools::type>) {
      (all.run(), ...);
    } else {
      using one = std::tuple_element_t<I, typename pools::type>;
      if constexpr (one::has_destructors) {
        typename one::ending next(std::get<I>(pools_));
        clear_from<I + 1>(all..., next);
      } else {
        clear_from<I + 1>(all...);
      }
    }
  }

  typename pools::type pools_;
};

}  // namespace tarn

#endif  // TARN_ALLOCATOR_MULTIPOOL_H_

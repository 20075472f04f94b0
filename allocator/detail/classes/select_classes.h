// Selects the classes of a size_class_pool, and the pool of each class, from its policies.
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_SELECT_CLASSES_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_SELECT_CLASSES_H_

#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/classes/class_chunks.h"
#include "tarn/allocator/detail/classes/size_class_body.h"
#include "tarn/allocator/detail/compose/rejected.h"
#include "tarn/allocator/detail/compose/select.h"
#include "tarn/allocator/detail/compose/values.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/size.h"

namespace tarn::detail {

inline constexpr std::size_t granule_bytes = 16 * 1024;

enum class class_verdict { good, one_size, two_sizes, wrong_classes };

template <class... Ps>
constexpr class_verdict judge_classes() noexcept {
  if constexpr (count_on<axis::size, Ps...> > 1) return class_verdict::two_sizes;
  else if constexpr (((policy_on<Ps, axis::size> && !size_class_policy<Ps>) || ...)) return class_verdict::one_size;
  else if constexpr (!((!policy_on<Ps, axis::size> || arguments_hold<Ps>) && ...)) return class_verdict::wrong_classes;
  else return class_verdict::good;
}

template <class_verdict Verdict>
struct class_complaint {
  static_assert(Verdict != class_verdict::two_sizes, "tarn: [C2] two policies were given for the axis size; keep one");
  static_assert(
      Verdict != class_verdict::one_size,
      "tarn: [C11] a policy of one block size was given to something that serves many sizes; write geometric_classes<>, "
      "listed_classes<...> or nothing, or use pool<...>");
};

/// The policies without those of the size axis.
template <class Kept, class... Ps>
struct sizeless;
template <class... Kept>
struct sizeless<policy_types<Kept...>> : std::type_identity<policy_types<Kept...>> {};
template <class... Kept, class P, class... Ps>
struct sizeless<policy_types<Kept...>, P, Ps...>
    : sizeless<std::conditional_t<policy_on<P, axis::size>, policy_types<Kept...>, policy_types<Kept..., P>>, Ps...> {};

/// \tparam Nine     as for basic_pool, with dynamic_size as the size
/// \tparam Granule  bytes of a granule if chunks are tagged; 0: chunks are tagged only if the store is bounded
template <class Classes, std::size_t Granule, class Nine>
struct class_composition;
template <class Classes, std::size_t Granule, class Size, class Locking, class Growth, class Store, class Reuse,
          class Retention, class Exhaustion, class Checking, class Statistics>
struct class_composition<Classes, Granule,
                         basic_pool<Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics>> {
  static constexpr bool tagged = Store::traits.bounded || Granule != 0;
  using chunks = std::conditional_t<tagged, tagged_chunks<Store, Locking, Growth, Granule != 0 ? Granule : granule_bytes>,
                                    direct_chunks<Store, Locking>>;
  using growth = std::conditional_t<tagged, whole_region, Growth>;
  using class_pool =
      basic_pool<dynamic_size, Locking, growth, class_store<chunks>, Reuse, Retention, Exhaustion, Checking, Statistics>;
  using body = size_class_body<Classes, class_pool, growth, chunks, Locking>;
  using values = policy_types<Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics>;
};

struct rejected_classes {
  using body = rejected;
  using values = policy_types<>;
};

template <class DefaultClasses, std::size_t Granule, class... Ps>
constexpr auto select_classes() noexcept {
  constexpr class_verdict verdict = judge_classes<Ps...>();
  if constexpr (verdict == class_verdict::good) {
    return []<class... Rest>(policy_types<Rest...>) {
      using classes = typename first_of<if_on<axis::size, Ps>..., DefaultClasses>::type;
      using nine = typename decltype(compose<dynamic_size, Rest...>())::type;
      if constexpr (std::is_same_v<nine, rejected>) return std::type_identity<rejected_classes>{};
      else return std::type_identity<class_composition<classes, Granule, nine>>{};
    }(typename sizeless<policy_types<>, Ps...>::type{});
  } else if constexpr (verdict == class_verdict::wrong_classes) {
    [[maybe_unused]] argument_complaint<typename first_of<if_on<axis::size, Ps>...>::type> c;
    return std::type_identity<rejected_classes>{};
  } else {
    [[maybe_unused]] class_complaint<verdict> c;
    return std::type_identity<rejected_classes>{};
  }
}

template <class... Ps>
using class_selection = typename decltype(select_classes<geometric_classes<>, 0, Ps...>())::type;
template <class... Ps>
using class_body_of = typename class_selection<Ps...>::body;

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_SELECT_CLASSES_H_

// The process-wide pool of many sizes that belongs to a tag: constant-initialised, never destroyed.
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_STATIC_CLASSES_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_STATIC_CLASSES_H_

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/classes/select_classes.h"
#include "tarn/allocator/detail/compose/values.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

template <class Selection, class... Policies>
constexpr static_fitness judge_static_classes(policy_types<Policies...>) noexcept {
  if constexpr (!(std::default_initializable<Policies> && ...)) return static_fitness::needs_value;
  else if constexpr ((ends_at_exit<Policies> || ...) || !std::is_trivially_destructible_v<typename Selection::static_body>)
    return static_fitness::has_destructor;
  else if constexpr (!constant_when_new<typename Selection::static_body>) return static_fitness::no_constant;
  else return static_fitness::good;
}

template <std::size_t Granule, class... Policies>
constexpr auto choose_static_classes() noexcept {
  using chosen = typename decltype(select_classes<geometric_classes<>, Granule, Policies...>())::type;
  if constexpr (std::is_same_v<chosen, rejected_classes>) {
    return std::type_identity<rejected_body>{};
  } else if constexpr (constexpr static_fitness verdict = detail::judge_static_classes<chosen>(typename chosen::values{});
                       verdict != static_fitness::good) {
    [[maybe_unused]] static_complaint<verdict> c;
    return std::type_identity<rejected_body>{};
  } else {
    return std::type_identity<typename chosen::static_body>{};
  }
}

/// Where the array lies of one that has it.
template <class Tag, class Classes>
struct values_of_static_classes : values_of_tag<Tag> {
  template <class Array>
  static constexpr Array* array_of() noexcept {
    return &static_array<Classes, Array>::its;
  }
};

/// \tparam Granule  bytes: blocks can be freed by address alone; 0: they are freed by size
template <class Tag, std::size_t Granule, class... Policies>
class static_classes {
 public:
  using body = typename decltype(choose_static_classes<Granule, Policies...>())::type;
  static constexpr bool may_return_chunks = requires(body& all) { all.trim(); };

  static body& instance() noexcept { return *detail::launder_address(detail::pointer_to(body_)); }

 private:
  static inline constinit body body_{values_of_static_classes<Tag, static_classes>{}};
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_STATIC_CLASSES_H_

// The process-wide pool of many sizes that belongs to a tag: constant-initialised, never destroyed.
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_STATIC_CLASSES_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_STATIC_CLASSES_H_

#include <cstddef>

#include "tarn/allocator/detail/classes/select_classes.h"
#include "tarn/allocator/detail/compose/values.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// \tparam Granule  bytes: blocks can be freed by address alone; 0: they are freed by size
template <class Tag, std::size_t Granule, class... Policies>
class static_classes {
 public:
  using body = typename decltype(select_classes<geometric_classes<>, Granule, Policies...>())::type::body;

  static body& instance() noexcept { return *launder_address(&body_); }

 private:
  static inline constinit body body_{values<>{}};
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_STATIC_CLASSES_H_

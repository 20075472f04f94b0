// Where the blocks of a pool lie that are an array of its store: in the pool, or beside it.
//
// What isn't zero from the start lies in the program's file, as large as it is, and on firmware in flash. So a pool that has a
// destructor starts all zero, array and all. Of a static pool, which has no destructor, something may have a value: then the
// array, which has none, lies beside it.
#ifndef TARN_ALLOCATOR_DETAIL_CORE_ARRAY_PLACE_H_
#define TARN_ALLOCATOR_DETAIL_CORE_ARRAY_PLACE_H_

#include <type_traits>

#include "tarn/policies/platform/config.h"

namespace tarn::detail {

template <class Traits>
class array_elsewhere {
  using array = typename Traits::store::template array<Traits>;

 public:
  template <class Values>
  constexpr explicit array_elsewhere(const Values& values) noexcept {
    if constexpr (requires { values.template array_of<array>(); }) array_ = values.template array_of<array>();
  }
  TARN_STEP array& get() const noexcept { return *array_; }

 private:
  array* array_ = nullptr;
};
template <class Traits>
class array_inside {
  using array = typename Traits::store::template array<Traits>;

 public:
  template <class Values>
  constexpr explicit array_inside(const Values&) noexcept {}
  TARN_STEP array& get() const noexcept { return array_; }

 private:
  mutable array array_;  // blocks are no part of the pool's value
};

template <class Traits>
using array_of_pool = std::conditional_t<Traits::arrays_lie_beside, array_elsewhere<Traits>, array_inside<Traits>>;

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CORE_ARRAY_PLACE_H_

// What policies of the axis store declare about themselves, each in one object, `traits`. A trait promises the member that its
// comment names; a member without its trait is refused.
#ifndef TARN_POLICIES_STORE_TRAITS_H_
#define TARN_POLICIES_STORE_TRAITS_H_

#include "tarn/policies/axis.h"

namespace tarn {

/// What a store policy declares about itself.
struct store_traits {
  bool bounded = false;            // it has one region and that is all: room(alignment) is the bytes that it can still give
  bool sized_by_geometry = false;  // the region is computed from the pool's geometry when the pool is compiled
  bool in_place = false;           // array<Traits>: its one region, which is there from the start, has start() and end()
  bool zeroed = false;             // what it gives is all zero
  bool reports_pages = false;      // report(): what became of its pages
  bool has_end = false;            // end(): the pool ends, after all regions were given back

  /// What a store over this one says: the same, but that each region goes through it.
  constexpr store_traits wrapped() const noexcept {
    store_traits all = *this;
    all.in_place = false;
    return all;
  }
};

}  // namespace tarn

#endif  // TARN_POLICIES_STORE_TRAITS_H_

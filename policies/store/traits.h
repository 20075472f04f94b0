// What policies of the axis store declare about themselves, each in one object, `traits`. A trait promises the member that its
// comment names; a member without its trait is refused.
#ifndef TARN_POLICIES_STORE_TRAITS_H_
#define TARN_POLICIES_STORE_TRAITS_H_

#include "tarn/policies/axis.h"
#include "tarn/policies/platform/page_advice.h"

namespace tarn {

/// What a store policy declares about itself.
struct store_traits {
  bool bounded = false;            // it has only one region: room(alignment) returns the bytes that it can still give
  bool sized_by_geometry = false;  // the region is computed from the pool's geometry when the pool is compiled
  bool in_place = false;           // array<Traits>: its one region, which exists from the start and has start() and end(). A
                                   // pool that needs nothing but its blocks uses it without acquire(), and links no growth, no
                                   // record and no store
  bool zeroed = false;             // its regions are all zero
  bool reports_pages = false;      // report(): the page_report of its pages
  bool can_discard = false;        // discard(runs, n, how): gives back the pages of runs inside its regions (page_advice)
  bool own_apart = false;          // acquire_own() and release_own(): memory that a pool needs for itself isn't like its chunks
  bool has_end = false;            // end(): called when the pool ends, after all regions were given back
  bool rounds_up = false;          // rounded_up(bytes, alignment): the bytes that acquire() would give, if it gives any
  bool has_best_size = false;      // best_size(bytes, alignment), static: a size near that which the store serves best
  bool tells_later = false;        // tell(): called after acquire() was, at the end of the pool's operation, with nothing held

  /// Returns what a store over this one declares: the same, except that each region goes through that store, by acquire(), and
  /// that pages don't go back inside regions. That store may have done something to them that would be lost, such as a lock or
  /// a device that writes there: if it hasn't, it sets can_discard to the inner one's.
  constexpr store_traits wrapped() const noexcept {
    store_traits all = *this;
    all.in_place = false;
    all.can_discard = false;
    all.own_apart = false;
    return all;
  }
};

}  // namespace tarn

#endif  // TARN_POLICIES_STORE_TRAITS_H_

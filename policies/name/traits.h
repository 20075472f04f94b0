// What policies of the axis name declare about themselves, each in one object, `traits`. A trait promises the member that its
// comment names; a member without its trait is refused.
#ifndef TARN_POLICIES_NAME_TRAITS_H_
#define TARN_POLICIES_NAME_TRAITS_H_

#include "tarn/policies/axis.h"
#include "tarn/policies/checking/call_site.h"

namespace tarn {

/// What a name policy declares about itself.
struct name_traits {
  bool is_listed = false;  // listing(): the pool's entry in the registry
};

/// A pool's entry in the registry.
struct pool_listing {
  const char* name = "";  // ends with a null; lives as long as the pool
  call_site where;        // the pool's declaration, if that is known
  bool has_size = false;  // the registry adds the block size, as in "orders/64": the pool is one of several of this name
};

}  // namespace tarn

#endif  // TARN_POLICIES_NAME_TRAITS_H_

// Policies that need a standard header which pool.h doesn't include are only declared in their axis's header, each with a
// home<>: the one error that names the header if a user forgot to include it.
#ifndef TARN_POLICIES_DETAIL_DECLARED_H_
#define TARN_POLICIES_DETAIL_DECLARED_H_

#include <type_traits>

#include "tarn/policies/platform/standard.h"

namespace tarn::detail {

template <class P>
concept defined = !std::is_class_v<P> || requires { sizeof(P); };  // no class, so no policy: another complaint

/// Specialised next to the declaration, with a static_assert that names the header.
template <class P>
struct home {
  static_assert(defined<P>,
                "tarn: [I1] an argument of pool<...> is declared and not defined; include the header that defines it");
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_DECLARED_H_

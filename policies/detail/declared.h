// Policies that need a header of the standard library which pool.h spares its users are declared in their axis' header, each
// with a home<>: the one error of who names it and hasn't included where it stands.
#ifndef TARN_POLICIES_DETAIL_DECLARED_H_
#define TARN_POLICIES_DETAIL_DECLARED_H_

#include <type_traits>

namespace tarn::detail {

template <class P>
concept defined = !std::is_class_v<P> || requires { sizeof(P); };  // what is no class is no policy: another complaint

/// Specialised beside the declaration, with a static_assert that names the header.
template <class P>
struct home {
  static_assert(defined<P>,
                "tarn: [I1] an argument of pool<...> is declared and not defined; include the header that defines it");
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_DECLARED_H_

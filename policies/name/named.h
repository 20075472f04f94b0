// decides    the pool has a name, which its type says, and is in the registry: tarn::snapshot() tells of it
// costs      nothing on the hot path. 216 bytes in the pool object; a few instructions more wherever the pool grows or its
//            front runs empty. Pools that differ in nothing but the name share their code
// conflicts  none
// use when   a program should show how its pools are
#ifndef TARN_POLICIES_NAME_NAMED_H_
#define TARN_POLICIES_NAME_NAMED_H_

#include <cstddef>

#include "tarn/policies/name/traits.h"

namespace tarn {

/// A string literal as a template argument.
template <std::size_t N>
struct name_text {
  /// Copies the literal, and the null at its end.
  consteval name_text(const char (&literal)[N]) noexcept {
    for (std::size_t i = 0; i != N; ++i) text[i] = literal[i];
  }
  char text[N] = {};  // with the null
};

/// \tparam Text  a string literal: 1 to 63 characters
template <name_text Text>
struct named {
  using axis = tarn::axis::name;
  static constexpr bool arguments_hold = sizeof Text.text > 1 && sizeof Text.text <= 64;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [A1] named with no text, or with more than 63 characters: the registry keeps no more; write a name of "
                  "1 to 63 characters");
  };
  static constexpr name_traits traits{.is_listed = true};

  static constexpr pool_listing listing() noexcept { return {Text.text, {}}; }
};

}  // namespace tarn

#endif  // TARN_POLICIES_NAME_NAMED_H_

// The name of a type, as a constant: how reports name the static pool of a tag.
#ifndef TARN_POLICIES_DETAIL_TYPE_NAME_H_
#define TARN_POLICIES_DETAIL_TYPE_NAME_H_

#include <cstddef>

#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// As the compiler spells it in the name of this function: without run-time type information there is no other source.
template <class T>
struct name_of_type {
  static constexpr const char* whole() noexcept { return TARN_FUNCTION_NAME; }
  /// Where the type's name starts in it: after "T = ".
  static constexpr std::size_t first() noexcept {
    const char* const all = whole();
    std::size_t i = 0;
    while (all[i] != 0 && !(all[i] == 'T' && all[i + 1] == ' ' && all[i + 2] == '=' && all[i + 3] == ' ')) ++i;
    return all[i] == 0 ? i : i + 4;
  }
  static constexpr std::size_t length() noexcept {
    const char* const name = whole() + first();
    std::size_t i = 0;
    while (name[i] != 0 && name[i] != ';' && name[i] != ']') ++i;
    return i;
  }
  struct characters {
    char at[length() + 1] = {};
  };
  static constexpr characters copy = [] {
    characters its;  // no name that a program may have, too: g++ would say that it is shadowed
    for (std::size_t letter = 0; letter != length(); ++letter) its.at[letter] = whole()[first() + letter];
    return its;
  }();
  static constexpr const char* text() noexcept { return copy.at; }
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_DETAIL_TYPE_NAME_H_

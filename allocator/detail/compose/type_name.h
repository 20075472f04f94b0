// The names of types as text, constants: how reports name the static pool of a tag, and what the registry says of policies.
#ifndef TARN_ALLOCATOR_DETAIL_COMPOSE_TYPE_NAME_H_
#define TARN_ALLOCATOR_DETAIL_COMPOSE_TYPE_NAME_H_

#include <cstddef>

#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// The name of a type, a constant: how reports name the static pool of a tag. As the compiler spells it in the name of a
/// function: without run-time type information there is no other source.
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

/// "tarn::mutex_locking<tarn::mutex>" as "mutex_locking".
template <class Policy>
constexpr std::size_t add_short_name(char* to, std::size_t at, std::size_t end) noexcept {
  const char* const name = name_of_type<Policy>::text();
  std::size_t first = 0;
  std::size_t last = 0;
  while (name[last] != 0 && name[last] != '<') {
    if (name[last] == ':' || name[last] == ' ') first = last + 1;
    ++last;
  }
  if (at != 0 && at + 2 < end) to[at++] = ',', to[at++] = ' ';
  for (; first != last && at != end; ++first) to[at++] = name[first];
  return at;
}

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_COMPOSE_TYPE_NAME_H_

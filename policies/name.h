// Axis name: what the pool is called, and whether it is in the registry.
#ifndef TARN_POLICIES_NAME_H_
#define TARN_POLICIES_NAME_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/checking/misuse.h"

namespace tarn {

/// What a name policy declares about itself.
struct name_traits {
  bool is_listed = false;  // listing(): the pool's entry in the registry
};

/// A pool's entry in the registry.
struct pool_listing {
  const char* name = "";  // ends with a null; lives as long as the pool
  call_site where;        // the pool's declaration, if that is known
  bool has_size = false;  // the registry adds the block size, as in "orders/64", because several pools have this name
};

// decides    the pool has no name, and isn't in the registry
// costs      nothing
// conflicts  none
// use when   nothing inspects the pool from outside (the default)
struct unnamed {
  using axis = tarn::axis::name;
  static constexpr name_traits traits{};

  struct state {
    constexpr explicit state(const unnamed&) noexcept {}
  };
};

/// A string literal as a template argument.
template <std::size_t N>
struct name_text {
  /// Copies the literal, and the null at its end.
  consteval name_text(const char (&literal)[N]) noexcept {
    for (std::size_t i = 0; i != N; ++i) text[i] = literal[i];
  }
  char text[N] = {};  // with the null
};

// decides    the pool has a name, which is part of its type, and is in the registry, so tarn::snapshot() includes it
// costs      nothing on the hot path. 208 bytes in the pool object; a few more instructions when the pool grows or its front
//            runs empty. Pools that differ only in their names share their code
// conflicts  none
// use when   a program should show the state of its pools
/// \tparam Text  a string literal: 1 to 63 characters
template <name_text Text>
struct named {
  using axis = tarn::axis::name;
  static constexpr bool arguments_hold = sizeof Text.text > 1 && sizeof Text.text <= 64;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [A1] named was given no text, or more than the 63 characters that the registry keeps; write a name of "
                  "1 to 63 characters");
  };
  static constexpr name_traits traits{.is_listed = true};

  static constexpr pool_listing listing() noexcept { return {Text.text, {}}; }
};

// decides    the pool has a name, which its constructor is given, and is in the registry, so tarn::snapshot() includes it
// costs      as named
// conflicts  static pools, which are created before the program starts
// use when   the name is known only at run time: one pool for each connection, or a pool of a type that a library chose
class run_time_name {
 public:
  using axis = tarn::axis::name;
  static constexpr name_traits traits{.is_listed = true};

  /// \param text   must outlive the pool; of more than 63 characters, the registry shows the first 63
  /// \param where  the pool's declaration
  constexpr explicit run_time_name(const char* text, call_site where = call_site::current()) noexcept : its_{text, where} {}

  constexpr pool_listing listing() const noexcept { return its_; }

 private:
  pool_listing its_;
};

/// Everything that the pool uses of a name policy, in addition to its traits. It has no machinery of its own, so listed pools
/// that differ only in their names share their code.
///   listing()    if the pool is in the registry: its pool_listing. Called when the pool is created
template <class P>
concept name_policy = policy_on<P, axis::name> && detail::says<P, name_traits> &&
                      detail::as_promised<P::traits.is_listed, requires(const P& policy) {
                        { policy.listing() } noexcept -> std::same_as<pool_listing>;
                      }>;

}  // namespace tarn

#endif  // TARN_POLICIES_NAME_H_

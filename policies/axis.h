// The ten axes of a pool. A policy names the axis it decides: `using axis = tarn::axis::store;`.
#ifndef TARN_POLICIES_AXIS_H_
#define TARN_POLICIES_AXIS_H_

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tarn/policies/platform/config.h"

namespace tarn {

namespace axis {
/// The ten decisions that define a pool:
///   size        how large a block is
///   locking     which threads may use the pool at once
///   growth      how many blocks the next chunk holds
///   store       where chunks come from and go back to
///   reuse       which free block is allocated next
///   retention   when an empty chunk goes back to the store
///   exhaustion  what happens when no block is available
///   checking    which misuse is found
///   statistics  what is counted
///   name        what the pool is called, and whether it is in the registry
struct size {};
struct locking {};
struct growth {};
struct store {};
struct reuse {};
struct retention {};
struct exhaustion {};
struct checking {};
struct statistics {};
struct name {};
}  // namespace axis

namespace detail {
template <class T, class... Ts>
concept one_of = (std::same_as<T, Ts> || ...);

/// A trait requires its member, and a member requires its trait, because a member without the trait would be silently ignored.
template <bool Promised, bool There>
concept as_promised = Promised == There;

/// A policy declares its traits in one constant object, of the type of its axis.
template <class P, class Traits>
concept says = requires { requires std::is_same_v<decltype(P::traits), const Traits>; };

/// What an axis keeps per chunk.
template <class C, class Geometry>
concept column = std::default_initializable<C> && requires(C& c, std::byte* start, std::size_t n, const Geometry& geometry) {
  { C::column_bytes(n, geometry) } noexcept -> std::same_as<std::size_t>;
  { c.open(start, n, geometry) } noexcept -> std::same_as<void>;
};

/// The column of an axis that keeps nothing per chunk. One type for each axis, since a chunk inherits all of them.
template <class Axis>
struct no_column {
  TARN_STEP static constexpr std::size_t column_bytes(std::size_t, const auto&) noexcept { return 0; }
  TARN_STEP constexpr void open(std::byte*, std::size_t, const auto&) noexcept {}
};

/// Refers to a template without instantiating it: `typename template_name<P::template source>`.
template <template <class> class>
struct template_name;
}  // namespace detail

/// A type that decides one axis.
template <class P>
concept policy = requires { typename P::axis; } &&
                 detail::one_of<typename P::axis, axis::size, axis::locking, axis::growth, axis::store, axis::reuse,
                                axis::retention, axis::exhaustion, axis::checking, axis::statistics, axis::name>;

/// A policy of the given axis.
template <class P, class Axis>
concept policy_on = policy<P> && std::is_same_v<typename P::axis, Axis>;

/// For a number that the policy derives from the block: an alignment, a first or largest number of blocks.
inline constexpr std::size_t natural = 0;

/// For a cap on the total number of blocks: no cap.
inline constexpr std::size_t unlimited = static_cast<std::size_t>(-1);

}  // namespace tarn

// Policies that need a standard header which pool.h doesn't include are only declared in their axis's header, each with a
// home<>: the one error that names the header if a user forgot to include it.

namespace tarn::detail {

template <class P>
inline constexpr bool defined = !std::is_class_v<P> || requires { sizeof(P); };  // not a class: another rule rejects it

/// Specialised next to the declaration, with a static_assert that names the header.
template <class P>
struct home {
  static_assert(defined<P>,
                "tarn: [I1] an argument of pool<...> is only declared; include the header that defines it");
};

}  // namespace tarn::detail

#endif  // TARN_POLICIES_AXIS_H_

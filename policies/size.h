// Axis size: how large a block is, and how it is aligned. Every pool names one of these policies.
#ifndef TARN_POLICIES_SIZE_H_
#define TARN_POLICIES_SIZE_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/size/dynamic_size.h"
#include "tarn/policies/size/geometric_classes.h"
#include "tarn/policies/size/listed_classes.h"
#include "tarn/policies/size/size_of.h"
#include "tarn/policies/size/static_size.h"
#include "tarn/policies/size/traits.h"

namespace tarn {

/// Everything that the pool uses of a size policy besides its traits.
/// `bytes()` and `alignment()` are static constants unless its traits say at_run_time.
template <class P>
concept size_policy = policy_on<P, axis::size> && requires(const P& size) {
  requires std::same_as<decltype(P::traits), const size_traits>;
  { size.bytes() } noexcept -> std::same_as<std::size_t>;
  { size.alignment() } noexcept -> std::same_as<std::size_t>;
};

/// Everything that a size_class_pool uses of its size policy: the sizes of its blocks, which it calls classes.
///   count          how many classes there are, at least 1
///   largest        bytes in a block of the largest class
///   index(bytes)   the smallest class with room for that many bytes, from 1 to `largest`
///   size(index)    bytes in a block of that class
template <class P>
concept size_class_policy = policy_on<P, axis::size> && requires(std::size_t n) {
  { P::count } -> std::convertible_to<std::size_t>;
  { P::largest } -> std::convertible_to<std::size_t>;
  { (P::index)(n) } noexcept -> std::same_as<std::size_t>;
  { P::size(n) } noexcept -> std::same_as<std::size_t>;
};

}  // namespace tarn

#endif  // TARN_POLICIES_SIZE_H_

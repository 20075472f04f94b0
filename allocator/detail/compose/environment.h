// What the machinery of every policy is bound to: the nine policies of a pool and what follows from them. One template
// parameter, so that a further axis changes no signature.
#ifndef TARN_ALLOCATOR_DETAIL_COMPOSE_ENVIRONMENT_H_
#define TARN_ALLOCATOR_DETAIL_COMPOSE_ENVIRONMENT_H_

#include <cstddef>
#include <type_traits>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/geometry.h"

namespace tarn::detail {

template <class Environment>
struct chunk;
template <class Environment>
struct chunk_layout;
template <class Environment>
class core;

/// The identity of the static pools whose locking policy doesn't ask for their tag: they share their code.
struct some_static_pool {};

/// \tparam Identity  void: the pool is an object; else some_static_pool, or the tag where the locking policy needs it
template <class Identity, class Size, class Locking, class Growth, class Store, class Reuse, class Retention,
          class Exhaustion, class Checking, class Statistics>
struct environment {
  using identity = Identity;
  static constexpr bool is_static = !std::is_void_v<Identity>;
  using size = Size;
  using locking = Locking;
  using growth = Growth;
  using store = Store;
  using reuse = Reuse;
  using retention = Retention;
  using exhaustion = Exhaustion;
  using checking = Checking;
  using statistics = Statistics;

  using geometry = detail::geometry<Size, shape_for<Reuse, Checking>()>;
  using chunk = detail::chunk<environment>;
  using layout = detail::chunk_layout<environment>;
  using core = detail::core<environment>;
  template <class T>
  using cell = typename Locking::template cell<T>;

  static constexpr std::size_t max_chunks =
      add(Store::traits.bounded ? 1 : Growth::traits.max_chunks, Exhaustion::traits.extra_chunks);
  static constexpr bool one_chunk = max_chunks == 1;
  static constexpr bool finds_chunks = Reuse::traits.finds_chunks || Checking::traits.finds_chunks;

  // Few chunks are found in the tree as fast; and where both stores are bounded there is no memory for a table.
  static constexpr bool has_chunk_table = finds_chunks && max_chunks > 8;
  static constexpr bool keeps_memory = Locking::traits.keeps_memory || has_chunk_table;

  static constexpr bool hears_frees = Exhaustion::traits.hears_frees;
  static constexpr bool reclaims = Exhaustion::traits.reclaims;

  // The constants on which a member of the pool depends: their names are what an error message shows.
  static constexpr bool size_is_given_at_run_time = Size::traits.at_run_time;
  static constexpr bool may_return_chunks = Locking::traits.may_return_chunks;
  static constexpr bool reports_pages = Store::traits.reports_pages;
  static constexpr bool can_verify = Checking::traits.can_verify;
  static constexpr bool checks_leaving = Checking::traits.checks_leaving;
  static constexpr bool samples = Checking::traits.samples;
  static constexpr bool tells_reentry = Checking::traits.tells_reentry;
  static constexpr bool has_sites = Checking::traits.has_sites;
  static constexpr bool has_generations = Checking::traits.has_generations && !samples;
  static constexpr bool shuffles = Checking::traits.shuffles;
  static constexpr bool counts = Statistics::traits.counts;

  /// Bytes, a power of two. A buffer that the caller sized isn't cut to cache lines: it would lose a block.
  static constexpr std::size_t chunk_alignment(const geometry& g) noexcept {
    return Store::traits.bounded && !Store::traits.sized_by_geometry ? g.alignment() : g.chunk_alignment();
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_COMPOSE_ENVIRONMENT_H_

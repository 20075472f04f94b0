// Axis store: where chunks come from and go back to.
#ifndef TARN_POLICIES_STORE_H_
#define TARN_POLICIES_STORE_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/declared.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/store/budgeted.h"
#include "tarn/policies/store/buffer_store.h"
#include "tarn/policies/store/heap_store.h"
#include "tarn/policies/store/page_store.h"
#include "tarn/policies/store/static_array_store.h"
#include "tarn/policies/store/traits.h"

namespace tarn {

class resource_store;  // over a std::pmr::memory_resource
template <class P>
  requires std::is_same_v<P, resource_store>
struct detail::home<P> {
  static_assert(detail::defined<P>,
                "tarn: [I2] resource_store needs <memory_resource>, so it stands in a header of its own; include "
                "tarn/policies/store/resource_store.h");
};

namespace detail {
template <class P, class Traits>
concept store_that_discards =
    requires(typename P::template source<Traits>& source, const memory* runs, std::size_t n, page_advice how) {
      { source.discard(runs, n, how) } noexcept -> std::same_as<std::size_t>;
    };

template <class P, class Traits>
concept store_with_array = requires(typename P::template array<Traits>& array) {
  { array.start() } noexcept -> std::same_as<std::byte*>;
  { array.end() } noexcept -> std::same_as<void>;
};

template <class P, class Traits>
concept store_that_rounds = requires(const typename P::template source<Traits>& source, std::size_t n) {
  { source.rounded_up(n, n) } noexcept -> std::same_as<std::size_t>;
};

template <class P>
concept store_with_best_size = requires(std::size_t n) {
  { P::best_size(n, n) } noexcept -> std::same_as<std::size_t>;
};

template <class P, class Traits>
concept store_members =
    requires(typename P::template source<Traits>& source, memory region, std::size_t n) {
      { source.acquire(n, n) } noexcept -> std::same_as<memory>;
      { source.release(region, n) } noexcept -> std::same_as<void>;
    } &&
    as_promised<P::traits.bounded,
                requires(const typename P::template source<Traits>& source, std::size_t n) {
                  { source.room(n) } noexcept -> std::same_as<std::size_t>;
                }> &&
    // A store over another may inherit what it doesn't use.
    (!P::traits.in_place || store_with_array<P, Traits>) && (!P::traits.can_discard || store_that_discards<P, Traits>) &&
    as_promised<P::traits.own_apart, requires(typename P::template source<Traits>& source, memory region, std::size_t n) {
      { source.acquire_own(n, n) } noexcept -> std::same_as<memory>;
      { source.release_own(region, n) } noexcept -> std::same_as<void>;
    }> && as_promised<P::traits.has_end, requires(typename P::template source<Traits>& source) {
      { source.end() } noexcept -> std::same_as<void>;
    }> && as_promised<P::traits.reports_pages, requires(const typename P::template source<Traits>& source) {
      source.report();
    }> && as_promised<P::traits.tells_later, requires(typename P::template source<Traits>& source) {
      { source.tell() } noexcept -> std::same_as<void>;
    }> && (!P::traits.rounds_up || store_that_rounds<P, Traits>) &&
    (!P::traits.has_best_size || store_with_best_size<P>) &&
    std::constructible_from<typename P::template source<Traits>, const P&>;
}  // namespace detail

/// Everything that the pool uses of a store policy besides its traits.
/// The machinery is `source<Traits>`, made from the policy.
///   acquire(bytes, alignment)   called under the growth guard only, so calls never overlap and a store need not be
///                               thread-safe. Returns at least `bytes` (more is welcome), aligned; null: refused. May use the
///                               pool that it serves, which then gets no chunk (docs/axes/store.md)
///   release(region, alignment)  takes back a region exactly as it was given
///   array<Traits>               if it is in place: the region alone, with start() and end()
///   acquire_own(), release_own()
///                               optional: the same for what the pool needs besides its chunks, such as a thread's magazines
///   discard(runs, n, how)       optional: gives back the memory of runs of whole pages inside regions, which nobody uses; the
///                               regions stay. Returns how many runs went, from the first on. Called under the growth guard
///   end()                       optional: called when the pool ends, after all regions were given back
///   rounded_up(bytes, alignment)
///                               optional: the bytes that acquire() would give, for a store over this one that must know before
///   P::best_size(bytes, alignment)
///                               optional: a size near that for which the store has more to offer, such as whole huge pages. A
///                               chunk whose number of blocks growth leaves open gets it, if blocks fill it
///   tell()                      optional: called after acquire(), at the end of the pool's operation and with nothing held: it
///                               may call code of the program, which may use the pool
template <class P>
concept store_policy = policy_on<P, axis::store> && detail::says<P, store_traits> && requires {
  typename detail::template_name<P::template source>;
} && (!P::traits.in_place || requires { typename detail::template_name<P::template array>; });

namespace detail {
/// A store that isn't the pool's own, but an exhaustion policy's, or shared by several pools.
template <class P, class Traits>
concept serving_store = store_policy<P> && store_members<P, Traits>;
}  // namespace detail

}  // namespace tarn

// A program that has included <memory_resource> has paid for it.
#include "tarn/policies/platform/included.h"
#if defined(TARN_MEMORY_RESOURCE_IS_INCLUDED)
#include "tarn/policies/store/resource_store.h"
#endif

#endif  // TARN_POLICIES_STORE_H_

// Axis store: where chunks come from and go back to.
#ifndef TARN_POLICIES_STORE_H_
#define TARN_POLICIES_STORE_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/declared.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/detail/stand_in.h"
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
template <class P>
concept store_with_array = requires(typename P::template array<stand_in>& array) {
  { array.start() } noexcept -> std::same_as<std::byte*>;
  { array.end() } noexcept -> std::same_as<void>;
};
}  // namespace detail

/// Everything that the pool uses of a store policy beside its traits.
/// The machinery is `source<Traits>`, made from the policy.
///   acquire(bytes, alignment)   called with the growth guard only, so calls never overlap and a store need not be
///                               thread-safe. Gives at least `bytes` (more is welcome), aligned; null: refused. It must
///                               not use the pool it serves
///   release(region, alignment)  takes back a region exactly as it was given
///   array<Traits>               where it is in place: the region alone, with start() and end()
///   end()                       where there is one: the pool ends, after all regions were given back
template <class P>
concept store_policy =
    policy_on<P, axis::store> &&
    requires {
      requires std::same_as<decltype(P::traits), const store_traits>;
      typename P::template source<detail::stand_in>;
    } &&
    requires(typename P::template source<detail::stand_in>& source, detail::memory region, std::size_t n) {
      { source.acquire(n, n) } noexcept -> std::same_as<detail::memory>;
      { source.release(region, n) } noexcept -> std::same_as<void>;
    } &&
    detail::as_promised<P::traits.bounded,
                        requires(const typename P::template source<detail::stand_in>& source, std::size_t n) {
                          { source.room(n) } noexcept -> std::same_as<std::size_t>;
                        }> &&
    detail::as_promised<P::traits.in_place, detail::store_with_array<P>> &&
    detail::as_promised<P::traits.has_end, requires(typename P::template source<detail::stand_in>& source) {
      { source.end() } noexcept -> std::same_as<void>;
    }> && detail::as_promised<P::traits.reports_pages, requires(const typename P::template source<detail::stand_in>& source) {
      source.report();
    }> && std::constructible_from<typename P::template source<detail::stand_in>, const P&>;

}  // namespace tarn

#endif  // TARN_POLICIES_STORE_H_

// Axis retention: when an empty chunk goes back to the store.
#ifndef TARN_POLICIES_RETENTION_H_
#define TARN_POLICIES_RETENTION_H_

#include <concepts>
#include <cstddef>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/pages.h"
#include "tarn/policies/reuse/page_local_reuse.h"

namespace tarn {

/// What a retention policy declares about itself.
struct retention_traits {
  bool returns_chunks = false;  // it returns chunks automatically
  bool returns_pages = false;   // the same for pages of memory in a chunk; requires returns_chunks. most_idle(bytes): how many
                                // bytes may be idle if `bytes` are in use; advice: how pages are freed
  bool tells_surplus = false;   // has_surplus(): whether too many are free now, for maintain()
};

// decides    a chunk never goes back while the pool exists, unless trim() or release() is called
// costs      nothing
// conflicts  none
// use when   the peak recurs, or nothing else needs the memory (the default)
struct keep_chunks {
  using axis = tarn::axis::retention;
  static constexpr retention_traits traits{};

  struct state {
    constexpr explicit state(const keep_chunks&) noexcept {}
    constexpr detail::status emptied() noexcept { return detail::status::done; }
    constexpr void reused() noexcept {}
    constexpr std::size_t keep() const noexcept { return static_cast<std::size_t>(-1); }
  };
};

// decides    when more than High chunks are empty, chunks go back to the store until Low empty ones are left
// costs      nothing for an allocation or a free; it implies page_local_reuse, which sees which chunks are empty
// conflicts  reuse policies that don't see empty chunks; lock_free, whose readers may still read a chunk
// use when   peaks are rare, and other code needs the memory
/// \tparam Low   empty chunks that stay when others go back
/// \tparam High  the most empty chunks before some go back, at least Low. A load that varies by less than High - Low chunks
///               never calls the store
template <std::size_t Low = 1, std::size_t High = 4>
struct return_empty_chunks {
  using axis = tarn::axis::retention;
  using implies = page_local_reuse<>;
  static constexpr bool arguments_hold = Low <= High;
  struct complaint {
    static_assert(arguments_hold,
                  "tarn: [K1] return_empty_chunks<Low, High> was given a Low that is greater than High; swap them");
  };
  static constexpr retention_traits traits{.returns_chunks = true, .tells_surplus = true};

  class state {
   public:
    constexpr explicit state(const return_empty_chunks&) noexcept {}
    constexpr detail::status emptied() noexcept { return ++empty_ > High ? detail::status::surplus : detail::status::done; }
    constexpr void reused() noexcept { --empty_; }
    constexpr std::size_t keep() const noexcept { return Low; }
    constexpr bool has_surplus() const noexcept { return empty_ > High; }

   private:
    std::size_t empty_ = 0;
  };
};

// decides    pages of memory without a block in use go back to the system, although their chunk is in use, as soon as more than
//            KeepPercent of the memory in use is idle. Empty chunks then go back to the store
// costs      nothing for an allocation or a free; it implies page_local_reuse, and adds a little over two bits for each block.
//            A page that is used again is a page fault, so a load that varies needs trim() or maintain(), not this
// conflicts  stores whose pages can't be freed or aren't the system's; reuse policies that don't see empty chunks; lock_free
// use when   a pool shrinks to a part of its peak and other code needs the memory
/// \tparam KeepPercent  how much may be idle, in percent of the bytes of blocks in use; then half of that stays
/// \tparam KeepBytes    how much may be idle in any case, in bytes
/// \tparam Advice       whether the pages are freed immediately, or when the system needs them
template <std::size_t KeepPercent = 25, std::size_t KeepBytes = 1024 * 1024, page_advice Advice = page_advice::discard>
struct return_empty_pages {
  using axis = tarn::axis::retention;
  using implies = page_local_reuse<>;
  static constexpr retention_traits traits{.returns_chunks = true, .returns_pages = true, .tells_surplus = true};
  static constexpr page_advice advice = Advice;

  /// Bytes that may be idle.
  static constexpr std::size_t most_idle(std::size_t in_use) noexcept {
    return detail::larger(in_use / 100 * KeepPercent, KeepBytes);
  }

  // Counts chunks, for a pool whose checking policy needs the pages.
  struct state : return_empty_chunks<>::state {
    constexpr explicit state(const return_empty_pages&) noexcept : return_empty_chunks<>::state(return_empty_chunks<>()) {}
  };
};

/// Everything that the pool uses of a retention policy, in addition to its traits.
/// The machinery is `state`, made from the policy, called with the core guard held.
///   emptied(), reused()  a chunk became empty, or is used again; emptied() returns `surplus` when too many are empty
///   keep()               how many empty chunks stay when a surplus is returned
///   has_surplus()        if it tells a surplus: whether too many are free now
/// and, if it returns pages:
///   most_idle(bytes)     how many bytes of free blocks may be idle if blocks of `bytes` bytes are in use
///   advice               how pages are freed
template <class P>
concept retention_policy = policy_on<P, axis::retention> && requires {
  requires std::same_as<decltype(P::traits), const retention_traits>;
  typename P::state;
} && requires(typename P::state& state) {
  { state.emptied() } noexcept -> std::same_as<detail::status>;
  { state.reused() } noexcept -> std::same_as<void>;
  { state.keep() } noexcept -> std::same_as<std::size_t>;
} && std::constructible_from<typename P::state, const P&> &&
    detail::as_promised<P::traits.tells_surplus, requires(const typename P::state& state) {
      { state.has_surplus() } noexcept -> std::same_as<bool>;
    }> && detail::as_promised<P::traits.returns_pages, requires(std::size_t bytes) {
      { P::most_idle(bytes) } noexcept -> std::same_as<std::size_t>;
      { P::advice } -> std::convertible_to<page_advice>;
    }>;

}  // namespace tarn

#endif  // TARN_POLICIES_RETENTION_H_

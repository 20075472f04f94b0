// decides    maintain() keeps so many blocks ready that were never handed out, with their pages in memory; how large chunks
//            are, another growth policy decides
// costs      nothing for an allocation or a free; the memory of that many blocks, and at most a chunk more; a thread, or calls,
//            that keep up
// conflicts  no_growth, which has one chunk; bounded stores (static_array_store, buffer_store), too
// use when   an allocation may neither wait for the store nor fault on a fresh page
#ifndef TARN_POLICIES_GROWTH_GROW_AHEAD_H_
#define TARN_POLICIES_GROWTH_GROW_AHEAD_H_

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/growth.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/pages.h"

namespace tarn {

namespace detail {
enum class share : std::size_t {};
}  // namespace detail

/// grow_ahead<percent<10>>: a tenth of the pool's blocks.
template <std::size_t Percent>
inline constexpr detail::share percent{Percent};

/// \tparam Blocks  that maintain() keeps ready, at least 1; or percent<1> to percent<99> of all blocks of the pool, at least 1
/// \tparam Growth  how large each chunk is
/// Where nobody calls maintain(), the pool grows as Growth says, and allocations get memory for threads' magazines, too.
template <auto Blocks, class Growth = geometric_growth<>>
class grow_ahead {
  using given = std::remove_const_t<decltype(Blocks)>;
  static constexpr bool is_share = std::same_as<given, detail::share>;
  static constexpr std::size_t number() noexcept {
    if constexpr (is_share || std::integral<given>) return Blocks < given{} ? 0 : static_cast<std::size_t>(Blocks);
    else return 0;
  }
  static constexpr bool is_number = number() != 0 && (!is_share || number() < 100);
  static constexpr auto spelled() noexcept {
    if constexpr (is_share) return Blocks;
    else return number();
  }

  static constexpr bool may_grow() noexcept {
    if constexpr (policy_on<Growth, tarn::axis::growth>) return Growth::traits.max_chunks != 1 && !Growth::traits.grows_ahead;
    else return false;
  }
  static constexpr bool inner_holds() noexcept {
    if constexpr (may_grow() && requires { Growth::arguments_hold; }) return Growth::arguments_hold;
    else return true;
  }
  struct no_complaint {};
  static constexpr auto inner_complaint() noexcept {
    if constexpr (inner_holds()) return std::type_identity<no_complaint>{};
    else return std::type_identity<typename Growth::complaint>{};
  }

 public:
  using axis = tarn::axis::growth;
  using canonical = grow_ahead<spelled(), Growth>;
  static constexpr bool arguments_hold = is_number && may_grow() && inner_holds();
  struct complaint : decltype(inner_complaint())::type {
    static_assert(is_number,
                  "tarn: [G5] grow_ahead was given no number of blocks, or a percentage that is none from 1 to 99, so there is "
                  "nothing to keep ready, or all that there ever is; give at least 1 block, or percent<10>");
    static_assert(!is_number || may_grow(),
                  "tarn: [G6] grow_ahead was combined with no_growth, whose one chunk is all that there is, or with no growth "
                  "policy; get that chunk with reserve(), or give geometric_growth<> or fixed_growth<Blocks>");
  };
  static constexpr growth_traits traits = [] {
    growth_traits t;
    if constexpr (may_grow()) t = Growth::traits;
    t.grows_ahead = true;
    return t;
  }();

  constexpr grow_ahead() noexcept = default;
  constexpr explicit grow_ahead(const Growth& growth) noexcept : growth_(growth) {}

  constexpr detail::chunk_request next_chunk(std::size_t last, std::size_t total, std::size_t stride) const noexcept {
    return growth_.next_chunk(last, total, stride);
  }
  constexpr std::size_t watermark(std::size_t total) const noexcept {
    if constexpr (is_share) return detail::larger(1, total / 100 * number() + total % 100 * number() / 100);
    else return number();
  }
  static bool fill(std::byte* start, std::size_t bytes) noexcept { return detail::page_memory::fill(start, bytes); }

 private:
  TARN_NO_UNIQUE_ADDRESS Growth growth_{};
};

}  // namespace tarn

#endif  // TARN_POLICIES_GROWTH_GROW_AHEAD_H_

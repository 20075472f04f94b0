// Axis growth: how many blocks the next chunk holds, and how many maintain() keeps ready. Growth counts in blocks; stores count
// in bytes.
#ifndef TARN_POLICIES_GROWTH_H_
#define TARN_POLICIES_GROWTH_H_

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/pages.h"

namespace tarn {

/// What a growth policy declares about itself.
struct growth_traits {
  std::size_t max_chunks = unlimited;  // the most chunks that a pool can have at once
  bool needs_bounded_store = false;    // the policy names no number of blocks: a bounded store determines it
  bool grows_ahead = false;            // watermark() and fill(): how many blocks maintain() keeps ready, and how
};

/// The result of a pool's maintain().
enum class maintained : unsigned char {
  done,        // as many blocks are ready as are wanted, and no surplus is left
  unfinished,  // the deadline passed, or another thread fills the last pages; there may be more to do
  refused,     // the store, a cap of the growth policy, or the system's memory: fewer blocks are ready than are wanted
};

namespace detail {
/// How many blocks may be added to `total`: at most `cap` in all, whose strides take at most `bytes`.
constexpr std::size_t room_under_cap(std::size_t total, std::size_t cap, std::size_t bytes, std::size_t stride) noexcept {
  const std::size_t most = bytes == static_cast<std::size_t>(-1) ? cap : smaller(cap, bytes / stride);
  return most - smaller(most, total);
}
}  // namespace detail

// decides    every chunk holds the same number of blocks, up to an optional cap in blocks or bytes
// costs      a call to the store for every Blocks blocks
// conflicts  bounded stores (static_array_store, buffer_store), which have one chunk
// use when   memory must grow in even, predictable steps
/// \tparam Blocks  in each chunk, at least 1
/// \tparam Cap     blocks in all chunks together
/// \tparam Bytes   bytes of all these blocks together, with what the other axes add to each. Records of chunks don't count
template <std::size_t Blocks, std::size_t Cap = unlimited, std::size_t Bytes = unlimited>
struct fixed_growth {
  using axis = tarn::axis::growth;
  static constexpr bool arguments_hold = Blocks != 0 && Cap != 0 && Bytes != 0;
  struct complaint {
    static_assert(Blocks != 0, "tarn: [G1] fixed_growth<0> was given, but a chunk needs blocks; give at least 1");
    static_assert(Cap != 0 && Bytes != 0,
                  "tarn: [G2] a growth policy was given a cap of 0 blocks, so the pool could never allocate one; give at least "
                  "1");
  };
  static constexpr growth_traits traits{};

  constexpr detail::chunk_request next_chunk(std::size_t, std::size_t total, std::size_t stride) const noexcept {
    const std::size_t blocks = detail::smaller(Blocks, detail::room_under_cap(total, Cap, Bytes, stride));
    return {blocks, blocks};
  }
};

// decides    each chunk holds Factor times the blocks of the one before, from First up to Max: 64, 128, 256, … 4096, 4096 …
// costs      a few calls to the store in total; unused memory, untouched: with a factor of 2, fewer blocks than in use plus
//            First, and fewer than Max
// conflicts  bounded stores (static_array_store, buffer_store), which have one chunk
// use when   nothing is known about the number of blocks (the default)
/// \tparam First   blocks in the first chunk; natural: as many as fit into 4 KiB, at least 1
/// \tparam Max     blocks in the largest chunk; natural: as many as fit into 4 MiB, at least 1
/// \tparam Factor  from one chunk to the next, at least 2
/// \tparam Cap     blocks in all chunks together
/// \tparam Bytes   bytes of all these blocks together, with what the other axes add to each. Records of chunks don't count
/// If the store refuses a chunk, the pool requests half of it, down to the size of the first. A region larger than requested
/// (page_store returns such regions) is used completely, within the cap. A pool that has returned all chunks starts again with
/// First.
template <std::size_t First = natural, std::size_t Max = natural, std::size_t Factor = 2, std::size_t Cap = unlimited,
          std::size_t Bytes = unlimited>
struct geometric_growth {
  using axis = tarn::axis::growth;
  static constexpr bool arguments_hold = Factor >= 2 && (Max == natural || First <= Max) && Cap != 0 && Bytes != 0;
  struct complaint {
    static_assert(Factor >= 2,
                  "tarn: [G3] geometric_growth with a factor under 2 doesn't grow; use fixed_growth<Blocks>, or a factor of 2");
    static_assert(Max == natural || First <= Max,
                  "tarn: [G4] geometric_growth was given a first chunk that is larger than the largest; swap First and Max");
    static_assert(Cap != 0 && Bytes != 0,
                  "tarn: [G2] a growth policy was given a cap of 0 blocks, so the pool could never allocate one; give at least "
                  "1");
  };
  static constexpr growth_traits traits{};

  constexpr detail::chunk_request next_chunk(std::size_t last, std::size_t total, std::size_t stride) const noexcept {
    const std::size_t first = First != natural ? First : detail::larger(1, first_bytes / stride);
    const std::size_t left = detail::room_under_cap(total, Cap, Bytes, stride);
    std::size_t next = first;
    if (total != 0) {
      const std::size_t largest = detail::larger(first, Max != natural ? Max : max_bytes / stride);
      next = detail::smaller(detail::multiply(last, Factor), largest);
    }
    return {detail::smaller(next, left), left, detail::smaller(first, left)};
  }

 private:
  static constexpr std::size_t first_bytes = 4 * 1024;
  static constexpr std::size_t max_bytes = 4 * 1024 * 1024;
};

// decides    one chunk of Blocks blocks, and never another
// costs      nothing: the chunk's record is in the pool object, so all bytes from the store are blocks
// conflicts  no_growth<> (no number) with an unbounded store
// use when   the number of blocks is a hard limit; bounded stores imply it
/// \tparam Blocks  in the one chunk; natural: as many as a bounded store has room for. If a bounded store has less room, the
///                 chunk has fewer blocks
template <std::size_t Blocks = natural>
struct no_growth {
  using axis = tarn::axis::growth;
  static constexpr growth_traits traits{.max_chunks = 1, .needs_bounded_store = Blocks == natural};

  constexpr detail::chunk_request next_chunk(std::size_t, std::size_t total, std::size_t) const noexcept {
    if (total != 0) return {};
    if (Blocks == natural) return {1, unlimited};
    return {Blocks, Blocks};
  }
};

namespace detail {
enum class share : std::size_t {};
}  // namespace detail

/// grow_ahead<percent<10>>: a tenth of the pool's blocks.
template <std::size_t Percent>
inline constexpr detail::share percent{Percent};

// decides    maintain() keeps that many unused blocks ready, with their pages in memory; another growth policy decides how
//            large chunks are
// costs      nothing for an allocation or a free; the memory of that many blocks, plus at most one chunk; a thread, or calls,
//            that keep up
// conflicts  no_growth and bounded stores (static_array_store, buffer_store), which have one chunk
// use when   an allocation must neither wait for the store nor fault on a fresh page
/// \tparam Blocks  that maintain() keeps ready, at least 1; or percent<1> to percent<99> of all blocks of the pool, at least 1
/// \tparam Growth  how large each chunk is
/// If maintain() is never called, the pool grows as Growth decides, and allocations also get the memory for threads' magazines.
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
                  "tarn: [G5] grow_ahead was given no number of blocks, 0 blocks, or a percentage that isn't from 1 to 99; "
                  "give at least 1 block, or percent<10>");
    static_assert(!is_number || may_grow(),
                  "tarn: [G6] grow_ahead was combined with no_growth, which has only one chunk, or with a type that can't "
                  "decide the size of chunks; get that chunk with reserve(), or give geometric_growth<> or "
                  "fixed_growth<Blocks>");
  };
  static constexpr growth_traits traits = [] {
    growth_traits t;
    if constexpr (may_grow()) t = Growth::traits;
    t.grows_ahead = true;
    return t;
  }();

  constexpr grow_ahead() noexcept = default;
  /// With this policy of the chunks.
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

/// Everything that the pool uses of a growth policy, in addition to its traits.
///   next_chunk(last, total, stride)   called with the pool's core guard held; pure. `last` and `total`: blocks in the newest
///                                     chunk and in all chunks; `stride` in bytes
/// and, if it grows ahead:
///   watermark(total)                  pure: how many unused blocks maintain() keeps, of `total` in all
///   fill(start, bytes)                brings some pages of a chunk into memory without changing them; false: the system
///                                     refused. Called with nothing held, maybe by several threads, while others use the
///                                     chunk's blocks. `start`: of a page
template <class P>
concept growth_policy = policy_on<P, axis::growth> && std::default_initializable<P> &&
                        requires(const P& growth, std::size_t n) {
                          requires std::same_as<decltype(P::traits), const growth_traits>;
                          { growth.next_chunk(n, n, n) } noexcept -> std::same_as<detail::chunk_request>;
                        } &&
                        detail::as_promised<P::traits.grows_ahead, requires(const P& growth, std::byte* start, std::size_t n) {
                          { growth.watermark(n) } noexcept -> std::same_as<std::size_t>;
                          { P::fill(start, n) } noexcept -> std::same_as<bool>;
                        }>;

}  // namespace tarn

#endif  // TARN_POLICIES_GROWTH_H_

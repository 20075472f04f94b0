// Axis store: where chunks come from and go back to.
#ifndef TARN_POLICIES_STORE_H_
#define TARN_POLICIES_STORE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/growth.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/platform/pages.h"

namespace tarn {

/// What a store policy declares about itself.
struct store_traits {
  bool bounded = false;            // it has only one region: room(alignment) returns the bytes that it can still give
  bool sized_by_geometry = false;  // the region is computed from the pool's geometry when the pool is compiled
  bool in_place = false;           // array<Traits>: its one region, which exists from the start and has start() and end(). A
                                   // pool that needs nothing but its blocks uses it without acquire(), and links no growth, no
                                   // record and no store
  bool zeroed = false;             // its regions are all zero
  bool reports_pages = false;      // report(): the page_report of its pages
  bool can_discard = false;        // discard(runs, n, how): frees the pages of runs inside its regions (page_advice)
  bool own_apart = false;          // acquire_own() and release_own(): a pool's memory for itself is kept apart
  bool has_end = false;            // end(): called when the pool is destroyed, after all regions were returned
  bool rounds_up = false;          // rounded_up(bytes, alignment): the bytes that acquire() would give, if it gives any
  bool has_best_size = false;      // best_size(bytes, alignment), static: a nearby size that the store serves best
  std::size_t cheap_alignment = 0;  // if not 0: small regions with a higher alignment are slow. For blocks that need more, up
                                    // to a cache line, a pool requests this, and aligns the first itself. Regions of more than
                                    // 64 KiB are requested with at least a cache line's alignment
  bool tells_later = false;        // tell(): called after acquire() was, at the end of the pool's operation, with nothing held

  /// Returns the traits of a store over this one: the same, except that each region goes through that store, by acquire(), and
  /// that pages inside regions aren't freed. It may have locked them, or let a device write there; if it hasn't, it sets
  /// can_discard to the inner one's.
  constexpr store_traits wrapped() const noexcept {
    store_traits all = *this;
    all.in_place = false;
    all.can_discard = false;
    all.own_apart = false;
    return all;
  }
};

// decides    the pool's one chunk is a span of bytes that the caller owns
// costs      nothing: the span contains only blocks (and a record, with fall_back_to)
// conflicts  growth policies of several chunks
// use when   memory is reserved elsewhere: a linker section, a mapping (of one process), a buffer on the stack
class buffer_store {
 public:
  using axis = tarn::axis::store;
  using implies = no_growth<>;
  static constexpr store_traits traits{.bounded = true, .has_end = true};

  /// \param bytes  must outlive the pool, and belong to no other. Its start is rounded up to the block's alignment. If it is
  ///               too small for a block, the pool is exhausted
  constexpr explicit buffer_store(span<std::byte> bytes) noexcept : bytes_(bytes) {}
  /// The same for an array, a span or a vector of unsigned char or char.
  template <class Bytes>
    requires(std::is_convertible_v<Bytes, span<unsigned char>> || std::is_convertible_v<Bytes, span<char>>)
  explicit buffer_store(Bytes&& bytes) noexcept : bytes_(renamed(span<character_of<Bytes>>(bytes))) {}

  /// Returns the constructor's argument.
  constexpr span<std::byte> bytes() const noexcept { return bytes_; }

  template <class Traits>
  class source {
   public:
    constexpr explicit source(const buffer_store& store) noexcept : bytes_(store.bytes()) {}

    std::size_t room(std::size_t alignment) const noexcept {
      const std::size_t skipped = skip(alignment);
      return given_ || skipped > bytes_.size() ? 0 : bytes_.size() - skipped;
    }
    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      const std::size_t rest = room(alignment);
      if (rest == 0 || rest < bytes) return {};
      given_ = true;
      std::byte* const start = bytes_.data() + skip(alignment);
      detail::memory_tools::hand_out(start, rest);
      return {start, rest};
    }
    void release(detail::memory region, std::size_t) noexcept {
      detail::memory_tools::poison(region.start, region.bytes);
      given_ = false;
    }
    void end() noexcept { detail::memory_tools::unpoison(bytes_.data(), bytes_.size()); }

   private:
    std::size_t skip(std::size_t alignment) const noexcept {
      const std::uintptr_t start = detail::address_of(bytes_.data());
      return detail::round_up(start, alignment) - start;
    }

    span<std::byte> bytes_;
    bool given_ = false;
  };

 private:
  template <class Bytes>
  using character_of = std::conditional_t<std::is_convertible_v<Bytes, span<char>>, char, unsigned char>;
  template <class Character>
  static span<std::byte> renamed(span<Character> bytes) noexcept {
    return {static_cast<std::byte*>(static_cast<void*>(bytes.data())), bytes.size()};
  }

  span<std::byte> bytes_;
};

// decides    chunks come from the global operator new and go back to operator delete. Behind the pool's first 16 MiB, the
//            system is asked for huge pages there
// costs      operator new, once for each chunk (a few times for some of 2 MiB and more); a word in the pool; behind the first
//            16 MiB up to 2 MiB in memory that no block needs yet
// conflicts  none
// use when   there is a heap and no reason not to use it (the default)
struct heap_store {
 private:
  using huge = detail::huge_pages_of_system;

 public:
  using axis = tarn::axis::store;
  /// Without pages there is firmware's malloc, which aligns at little cost, and code is dear.
  static constexpr store_traits traits{
      .has_best_size = huge::exist,
      .cheap_alignment = platform::system::has_pages ? __STDCPP_DEFAULT_NEW_ALIGNMENT__ : 0};

  /// Whole huge pages, less what a heap adds, if that is within an eighth.
  static constexpr std::size_t best_size(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes < huge::bytes / 2) return bytes;  // as of most pools
    const std::size_t whole = huge::whole_near(bytes + added);
    return alignment <= detail::cache_line && whole <= bytes + bytes / 8 ? whole - added : bytes;
  }

  template <class Traits>
  class source {
   public:
    constexpr explicit source(const heap_store&) noexcept {}

    detail::memory acquire(std::size_t bytes, std::size_t alignment) noexcept {
      if (bytes > detail::size_limit) return {};
      if (huge::exist && bytes % huge::bytes == 0) bytes += added;  // such a size tells release() that it may be aligned
      const detail::memory region = is_whole(bytes) ? get_whole(bytes, alignment) : get(bytes, alignment);
      if (!region) return {};
      const std::size_t held = held_ % cuts;
      const std::size_t in_small = held < in_small_pages ? in_small_pages - held : 0;
      held_ += region.bytes;
      if constexpr (huge::exist)
        if (region.bytes > in_small) huge::ask(static_cast<std::byte*>(region.start) + in_small, region.bytes - in_small);
      return region;
    }
    void release(detail::memory region, std::size_t alignment) noexcept {
      held_ -= region.bytes;
      if (held_ == cuts) held_ = 0;
      const bool aligned = huge::exist && region.bytes % huge::bytes == 0 && behind_huge_page(region) == 0;
      give(region, aligned ? detail::larger(alignment, huge::bytes) : alignment);
    }

   private:
    /// A pool's first bytes are in small pages: with huge ones, up to 2 MiB would be in memory that no block needs, which is an
    /// eighth of these bytes. A block's first use costs 21 ns of page faults in small ones, and 3.2 in huge ones (64 bytes).
    static constexpr std::size_t in_small_pages = 16 * 1024 * 1024;
    static constexpr std::size_t small_page = 4096;

    // The plain forms if their alignment suffices, since a program that replaces operator new usually replaces only that one.
    // The unsized forms of delete, because clang before 19 has no sized aligned one by default.
    static constexpr bool is_plain(std::size_t alignment) noexcept { return alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__; }
    static detail::memory get(std::size_t bytes, std::size_t alignment) noexcept {
      void* const start = is_plain(alignment) ? ::operator new(bytes, std::nothrow)
                                              : ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
      return {start, start == nullptr ? 0 : bytes};
    }
    static void give(detail::memory region, std::size_t alignment) noexcept {
      if (is_plain(alignment)) ::operator delete(region.start);
      else ::operator delete(region.start, std::align_val_t{alignment});
    }

    static constexpr bool is_whole(std::size_t bytes) noexcept { return huge::exist && (bytes + added) % huge::bytes == 0; }
    static std::size_t behind_huge_page(detail::memory region) noexcept {
      return detail::address_of(region.start) % huge::bytes;
    }

    /// A region of whole huge pages: it starts just behind the start of one, or there. To align each would lose as many
    /// addresses as a huge page has, so few are:
    ///   - a heap that maps large regions one by one maps whole huge pages for this size, and systems put that on one;
    ///   - a heap that cuts them from one piece has each end just behind the start of a huge page, and the next one there. It
    ///     is aligned if something else lies there, or if it is the first.
    /// glibc begins with the first, and does the second with sizes up to the largest that it got back. So it gets as much back
    /// as an aligned one needs.
    detail::memory get_whole(std::size_t bytes, std::size_t alignment) noexcept {
      if (held_ < cuts) {
        const detail::memory mapped = get(bytes, alignment);
        if (!mapped || behind_huge_page(mapped) < small_page) return mapped;
        give(mapped, alignment);
        held_ += cuts;
      }
      const detail::memory next = get(bytes + added, alignment);
      if (!next || (behind_huge_page(next) != 0 && behind_huge_page(next) < small_page)) return next;
      give(next, alignment);
      give(get(bytes + huge::bytes + small_page, alignment), alignment);
      return get(bytes + added, detail::larger(alignment, huge::bytes));
    }

    static constexpr std::size_t cuts = ~(detail::size_max / 2);
    std::size_t held_ = 0;  // bytes; and `cuts`, once the heap didn't map a region by itself
  };

 private:
  static constexpr std::size_t added = 3 * detail::cache_line;  // at least as much as heaps add to a region, and to align it
};

// decides    the pool's one chunk of Blocks blocks is inside the pool object, so no heap is used
// costs      the pool object is as large as its blocks and two words; 105 bytes of code without other policies (x86-64, -Os)
// conflicts  dynamic_size; growth policies of several chunks
// use when   there is no heap, or it must not be used: firmware, audio, a pool on the stack
/// \tparam Blocks  in the array, at least 1; the pool hands out exactly that many
template <std::size_t Blocks>
struct static_array_store {
  using axis = tarn::axis::store;
  static constexpr bool arguments_hold = Blocks != 0;
  struct complaint {
    static_assert(arguments_hold, "tarn: [T1] static_array_store<0> was given, but the array needs blocks; give at least 1");
  };
  using implies = no_growth<Blocks>;
  static constexpr store_traits traits{.bounded = true, .sized_by_geometry = true, .in_place = true, .has_end = true};
  static constexpr std::size_t blocks = Blocks;

  /// The blocks themselves. A pool that needs nothing else has no source.
  template <class Traits>
  class array {
    static constexpr typename Traits::geometry geometry{};
    static constexpr std::size_t wanted = Traits::layout::bytes(Blocks, geometry);
    static constexpr std::size_t in_front = Traits::bytes_in_front_of_array();
    // Aligned as a chunk is: to pages if the policy returns pages (it doesn't return these). Columns may have words of 64 bits,
    // even if a pointer has 32; there are none after a pool's own words.
    static constexpr std::size_t aligned_to =
        in_front == 0 ? detail::larger(Traits::chunk_alignment(geometry), alignof(std::uint64_t)) : geometry.chunk_alignment();
    static constexpr std::size_t gap = detail::round_up(in_front, aligned_to) - in_front;
    // If it were aligned to more than a page, the object would be padded up to three times. So the place of a chunk is computed
    // at run time.
    static constexpr bool floats = in_front == 0 && aligned_to > 4096 && !Traits::in_place;
    static constexpr std::size_t own_alignment = floats         ? alignof(std::uint64_t)
                                                 : in_front == 0 ? aligned_to
                                                                 : alignof(void*);
    static constexpr std::size_t slack = floats ? aligned_to - own_alignment : 0;

   public:
    static constexpr std::size_t size = wanted <= detail::size_limit ? wanted : 1;  // bytes; rule R7 refuses such an array

    std::byte* start() noexcept { return storage_.bytes + skip(); }
    const std::byte* start() const noexcept { return storage_.bytes + skip(); }
    void end() noexcept { detail::memory_tools::unpoison(start(), size); }

   private:
    std::size_t skip() const noexcept {
      if constexpr (floats) return (aligned_to - detail::address_of(storage_.bytes) % aligned_to) % aligned_to;
      else return gap;
    }

    // Starts as `none`: a constant that takes no space in the executable. The padding that aligns it after the pool's own words
    // is part of it, because if it were aligned as a whole, they would be padded twice.
    union storage {
      std::byte none;
      alignas(own_alignment) std::byte bytes[gap + size + slack];
    };
    storage storage_{.none = {}};
  };

  template <class Traits>
  class source {
    using array = typename static_array_store::array<Traits>;
    static constexpr bool is_beside = detail::arrays_lie_beside<Traits>;
    template <int>
    struct numbered : array {};

   public:
    constexpr explicit source(const static_array_store&) noexcept {}
    /// The array is outside a static pool's object. \tparam Which  of its stores
    template <int Which, class Values>
    constexpr void lie_beside([[maybe_unused]] const Values& values) noexcept {
      if constexpr (is_beside && requires { values.template array_of<numbered<Which>>(); })
        array_ = values.template array_of<numbered<Which>>();
    }

    std::size_t room(std::size_t) const noexcept { return given_ ? 0 : array::size; }
    detail::memory acquire(std::size_t bytes, std::size_t) noexcept {
      if (given_ || bytes > array::size) return {};
      given_ = true;
      detail::memory_tools::hand_out(its().start(), array::size);
      return {its().start(), array::size};
    }
    void release(detail::memory, std::size_t) noexcept {
      detail::memory_tools::poison(its().start(), array::size);
      given_ = false;
    }
    void end() noexcept { its().end(); }

   private:
    array& its() noexcept {
      if constexpr (is_beside) return *array_;
      else return array_;
    }

    std::conditional_t<is_beside, array*, array> array_{};
    bool given_ = false;
  };
};

class resource_store;  // over a std::pmr::memory_resource
template <class P>
  requires std::is_same_v<P, resource_store>
struct detail::home<P> {
  static_assert(detail::defined<P>,
                "tarn: [I2] resource_store needs <memory_resource>, so it has its own header; include "
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
    // A store over another one may inherit members that it doesn't use.
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

/// Everything that the pool uses of a store policy, in addition to its traits.
/// The machinery is `source<Traits>`, made from the policy.
///   acquire(bytes, alignment)   called under the growth guard only, so calls never overlap and a store need not be
///                               thread-safe. Returns at least `bytes` (more is welcome), aligned; null: refused. May use the
///                               pool that it serves, which then gets no chunk (docs/axes/store.md)
///   release(region, alignment)  takes a region back exactly as acquire() returned it
///   array<Traits>               if it is in place: the region alone, with start() and end()
///   acquire_own(), release_own()
///                               optional: the same for memory that isn't a chunk, such as a thread's magazines
///   discard(runs, n, how)       optional: frees the memory of runs of whole, unused pages inside regions; the regions stay.
///                               Returns how many runs were freed, from the first on. Called under the growth guard
///   end()                       optional: called when the pool is destroyed, after all regions were returned
///   rounded_up(bytes, alignment)
///                               optional: the bytes that acquire() would return, for a store over this one that must know
///                               beforehand
///   P::best_size(bytes, alignment)
///                               optional: a nearby size for which the store is better, such as whole huge pages. A chunk whose
///                               number of blocks growth doesn't fix gets it, if blocks fill it
///   tell()                      optional: called after acquire(), at the end of the pool's operation and with nothing held: it
///                               may call code of the program, which may use the pool
template <class P>
concept store_policy = policy_on<P, axis::store> && detail::says<P, store_traits> && requires {
  typename detail::template_name<P::template source>;
} && (!P::traits.in_place || requires { typename detail::template_name<P::template array>; });

namespace detail {
/// A store that belongs to an exhaustion policy, or that several pools share.
template <class P, class Traits>
concept serving_store = store_policy<P> && store_members<P, Traits>;
}  // namespace detail

}  // namespace tarn

#endif  // TARN_POLICIES_STORE_H_

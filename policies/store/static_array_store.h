// decides    the pool's one chunk of Blocks blocks lies inside the pool object: no heap at all
// costs      the pool object is as large as its blocks and two words; 105 bytes of code if no other policy is named (x86-64,
//            -Os)
// conflicts  dynamic_size; growth policies of several chunks
// use when   there is no heap, or none may be used: firmware, audio, a pool on the stack
#ifndef TARN_POLICIES_STORE_STATIC_ARRAY_STORE_H_
#define TARN_POLICIES_STORE_STATIC_ARRAY_STORE_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/growth/no_growth.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/store/traits.h"

namespace tarn {

/// \tparam Blocks  in the array, at least 1; the pool hands out exactly that many
template <std::size_t Blocks>
struct static_array_store {
  using axis = tarn::axis::store;
  static constexpr bool arguments_hold = Blocks != 0;
  struct complaint {
    static_assert(arguments_hold, "tarn: [T1] static_array_store<0>: an array of no blocks; give at least 1");
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
    // As a chunk: to pages, where those go back, though not these. Columns may have words of 64 bits, also where a pointer has
    // 32; behind a pool's own words there are none.
    static constexpr std::size_t aligned_to =
        in_front == 0 ? detail::larger(Traits::chunk_alignment(geometry), alignof(std::uint64_t)) : geometry.chunk_alignment();
    static constexpr std::size_t gap = detail::round_up(in_front, aligned_to) - in_front;
    // Aligned to more than a page, the object would be padded up to three times. So where a chunk is asked for, its place is
    // found when the program runs.
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

    // Starts as `none`: a constant that takes no space in the executable. What aligns it behind the pool's own words is part of
    // it: were it aligned as a whole, they would be padded twice.
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
    /// The array lies beside a static pool. \tparam Which  of its stores
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

}  // namespace tarn

#endif  // TARN_POLICIES_STORE_STATIC_ARRAY_STORE_H_

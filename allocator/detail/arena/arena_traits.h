// What the policies of an arena see in the place of a pool: blocks of one byte. So growth counts bytes, a static_array_store<N>
// is N bytes, and stores, exhaustion and locks work as they are.
#ifndef TARN_ALLOCATOR_DETAIL_ARENA_ARENA_TRAITS_H_
#define TARN_ALLOCATOR_DETAIL_ARENA_ARENA_TRAITS_H_

#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/compose/pool_traits.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/platform/system.h"
#include "tarn/policies/statistics.h"

namespace tarn::detail {

/// Blocks start at multiples of it, and take multiples: of what most types are aligned to, so that a hit rounds nothing, and,
/// where AddressSanitizer runs, of the bytes for which it has one mark.
inline constexpr std::size_t arena_unit = platform::system::has_pages ? larger(8, sizeof(void*)) : sizeof(void*);

struct byte_geometry {
  static constexpr std::size_t stride() noexcept { return 1; }
  static constexpr std::size_t alignment() noexcept { return larger(alignof(std::max_align_t), 2 * sizeof(void*)); }
  static constexpr std::size_t chunk_alignment() noexcept { return alignment(); }
  static constexpr std::size_t extent(std::size_t n) noexcept { return n; }
};

/// A chunk is exactly as large as the growth policy says. Its record is part of it. The only chunk, which has no record,
/// has no fewer bytes than that.
template <bool OneChunk>
struct arena_layout {
  static constexpr std::size_t bytes(std::size_t n, const byte_geometry& g) noexcept {
    return OneChunk && n <= size_limit ? round_up(n, g.alignment()) : n;
  }
  static constexpr std::size_t blocks_in(std::size_t room, std::size_t at_most, const byte_geometry&) noexcept {
    return smaller(room, at_most);
  }
};

/// Whether a chunk is from the second of two stores.
struct second_mark {
  bool from_second;
};
struct no_second_mark {
  static constexpr bool from_second = false;
};

/// The record of a chunk. It is stored in front of the chunk's blocks or, if there is only one chunk, in the arena.
template <class Traits>
struct arena_chunk {
  arena_chunk* next;  // in the order of use; those behind the current one are spare
  memory region;  // as the store gave it
  std::byte* end;  // aligned to byte_geometry::alignment()
  std::size_t before;  // bytes in the chunks in front of it, once it was entered
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Traits::has_second, second_mark, no_second_mark> from;

  static constexpr std::size_t record() noexcept {
    return Traits::one_chunk ? 0 : round_up(sizeof(arena_chunk), byte_geometry::alignment());
  }
  std::byte* first() const noexcept { return static_cast<std::byte*>(region.start) + record(); }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(end - first()); }
};

/// The one template parameter of an arena's machinery, and of its policies'.
/// \tparam IsStatic  of a static_arena, which is never destroyed
/// \tparam Name      unnamed, or listed: which name it is makes no difference
template <bool IsStatic, class Locking, class Growth, class Store, class Exhaustion, class Checking, class Statistics,
          class Name>
struct arena_traits {
  using locking = Locking;
  using growth = Growth;
  using store = Store;
  using exhaustion = Exhaustion;
  using checking = Checking;
  using statistics = Statistics;
  using name = Name;
  using geometry = byte_geometry;
  template <class T>
  using cell = typename Locking::template cell<T>;
  using tally = typename tally_of<Locking, Locking::traits.has_tally>::type;

  static constexpr bool is_static = IsStatic;
  /// Whether marks may be set: another thread's blocks would go with them.
  static constexpr bool one_thread = Locking::traits.one_thread;
  static constexpr bool checks = Checking::traits.refuses;
  static constexpr bool counts = Statistics::traits.counts;
  static constexpr bool is_listed = Name::traits.is_listed;
  static constexpr bool notes_peak = counts || is_listed;
  static constexpr bool has_second = Exhaustion::traits.has_second();
  static constexpr bool one_chunk = !has_second && (Store::traits.bounded || Growth::traits.max_chunks == 1);
  /// Whether the arena is an array of bytes and nothing else.
  static constexpr bool in_place = Store::traits.in_place && !counts && !is_listed && !Exhaustion::traits.retries;
  using layout = arena_layout<one_chunk>;
  static constexpr bool has_source = !in_place;
  static constexpr bool holds_array = has_array<Store, Exhaustion>;
  /// Whether its arrays are outside the object, so that they take no space in the executable.
  static constexpr bool arrays_lie_beside = holds_array && is_static && static_has_values<Locking, Checking, Name>;
  static constexpr bool store_is_bounded = Store::traits.bounded;
  static constexpr bool second_store_is_bounded = has_second && Exhaustion::traits.store_is_bounded;
  static constexpr bool store_comes_back = !in_place;

  // What an arena never is or does.
  static constexpr bool aligns_first = false;
  static constexpr bool keeps_memory = false;
  static constexpr bool reclaims = false;
  static constexpr bool returns_pages = false;
  static constexpr bool tells_reentry = false;
  static constexpr std::size_t bytes_in_front_of_array() noexcept { return 0; }
  static constexpr std::size_t chunk_alignment(const geometry& g) noexcept { return g.alignment(); }
  static constexpr std::size_t least_alignment(const geometry& g) noexcept { return g.alignment(); }
};

/// How many bytes a request takes: 0 for none, and for so many that the sum would wrap.
TARN_STEP constexpr std::size_t arena_taken(std::size_t bytes) noexcept { return round_up(bytes, arena_unit); }

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_ARENA_ARENA_TRAITS_H_

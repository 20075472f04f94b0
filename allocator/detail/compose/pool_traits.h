// The one template parameter of every policy's machinery: the ten policies of a pool and what follows from several of them. It
// is one parameter, so a new axis changes no signature.
#ifndef TARN_ALLOCATOR_DETAIL_COMPOSE_POOL_TRAITS_H_
#define TARN_ALLOCATOR_DETAIL_COMPOSE_POOL_TRAITS_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tarn/policies/axis.h"
#include "tarn/policies/detail/fork.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/platform/pages.h"
#include "tarn/policies/size.h"
#include "tarn/policies/statistics.h"

namespace tarn {
class buffer_store;
template <std::size_t Blocks>
struct static_array_store;
}  // namespace tarn

namespace tarn::detail {

template <class Traits>
struct chunk;
template <class Traits>
struct chunk_layout;
template <class Traits>
struct pool_state;
template <class Traits>
class many_chunks;
template <class Traits>
class array_chunk;
template <class Traits>
class checked_array;

/// Whether Growth is the policy that the store implies: all of the store's blocks, and no fewer.
template <class Store, class Growth>
concept grows_as_implied = std::is_same_v<typename Store::implies, Growth>;

/// Whether a store has its memory from the start, so that it runs no code of the program. A derived store may.
template <class Store>
inline constexpr bool calls_nobody = false;
template <>
inline constexpr bool calls_nobody<buffer_store> = true;
template <std::size_t Blocks>
inline constexpr bool calls_nobody<static_array_store<Blocks>> = true;

/// The growth policy that decides how many blocks a chunk in a buffer has: the pool's, or that of the second store.
template <class Exhaustion, class Growth, bool StoreIsABuffer>
struct growth_in_a_buffer {
  using type = Growth;
};
template <class Exhaustion, class Growth>
  requires requires { typename Exhaustion::second_growth; }
struct growth_in_a_buffer<Exhaustion, Growth, false> {
  using type = typename Exhaustion::second_growth;
};

/// Whether blocks of the pool are an array: its own, or that of the second store.
template <class Store, class Exhaustion>
inline constexpr bool has_array =
    (Store::traits.bounded && Store::traits.sized_by_geometry) ||
    (Exhaustion::traits.has_second() && Exhaustion::traits.store_is_bounded && Exhaustion::traits.store_is_sized_by_geometry);

/// Whether a policy must be notified of each block, or chunk, when all blocks become free together.
template <class Retention, class Exhaustion, class Checking, class Statistics>
inline constexpr bool hears_each_free =
    Checking::traits.refuses || Checking::traits.switches || Checking::traits.samples || Exhaustion::traits.hears_frees ||
    Retention::traits.returns_chunks ||
    (Statistics::traits.hears_blocks && !Statistics::traits.hears_release && !Statistics::traits.hears_events);

/// Whether a walk may keep bits for the store's array on the stack: at most 4 KiB.
template <class Store>
inline constexpr bool few_blocks = [] {
  if constexpr (requires { Store::blocks; }) return Store::blocks <= 32 * 1024;
  else return true;
}();

/// Whether something in a new static pool isn't zero: its library's address (because no destructor reports that it is
/// unloaded), or a name.
template <class Locking, class Checking, class Name>
inline constexpr bool static_has_values =
    Name::traits.is_listed || Checking::traits.has_name || Checking::traits.tells_in_use ||
    (!std::is_empty_v<fork_member> &&
     (Locking::traits.can_wait || Locking::traits.own_free_list || Locking::traits.keeps_blocks));

/// The identity of static pools whose locking policy doesn't need their tag: they share code.
struct some_static_pool {};
/// That of a pool inside a static owner that has values.
struct part_of_static {};

/// \tparam Identity  void: the pool is an object; otherwise some_static_pool, or the tag if the locking policy needs it
/// \tparam Name      unnamed, or listed: which name it is makes no difference
template <class Identity, class Size, class Locking, class Growth, class Store, class Reuse, class Retention,
          class Exhaustion, class Checking, class Statistics, class Name>
struct pool_traits {
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
  using name = Name;

  /// Whether pages of memory are returned while their chunk stays. If a checking policy checks the contents of free blocks,
  /// which returned pages lose, only chunks are returned.
  static constexpr bool returns_pages = Retention::traits.returns_pages && Store::traits.can_discard &&
                                        !Checking::traits.fills && !Checking::traits.keeps_payload &&
                                        Checking::traits.prefix == 0 && Checking::traits.suffix == 0;

  static constexpr block_shape shape = [] {
    block_shape its = shape_for<Reuse, Checking>();
    its.coloured = !returns_pages;
    return its;
  }();
  using geometry = detail::geometry<Size, shape>;
  using layout = detail::chunk_layout<pool_traits>;
  using pool = pool_state<pool_traits>;
  template <class T>
  using cell = typename Locking::template cell<T>;
  using tally = typename tally_of<Locking, Locking::traits.has_tally>::type;

  static constexpr std::size_t max_chunks =
      add(Store::traits.bounded ? 1 : Growth::traits.max_chunks, Exhaustion::traits.extra_chunks);
  static constexpr bool one_chunk = max_chunks == 1;
  static constexpr bool store_is_bounded = Store::traits.bounded;
  static constexpr bool second_store_is_bounded = Exhaustion::traits.has_second() && Exhaustion::traits.store_is_bounded;
  static constexpr bool has_bounded_store = store_is_bounded || second_store_is_bounded;
  static constexpr bool store_is_a_buffer = store_is_bounded && !Store::traits.sized_by_geometry;
  static constexpr bool holds_array = has_array<Store, Exhaustion>;
  /// Whether its arrays are outside the pool object, so that they take no space in the executable.
  static constexpr bool arrays_lie_beside =
      holds_array && is_static && (std::is_same_v<Identity, part_of_static> || static_has_values<Locking, Checking, Name>);
  static constexpr bool takes_a_buffer =
      store_is_a_buffer || (second_store_is_bounded && !Exhaustion::traits.store_is_sized_by_geometry);
  using growth_in_buffer = typename growth_in_a_buffer<Exhaustion, Growth, store_is_a_buffer>::type;
  static constexpr bool finds_chunks = Reuse::traits.finds_chunks || Checking::traits.finds_chunks;

  /// Whether no axis but checking keeps anything per chunk.
  static constexpr bool no_columns =
      std::is_same_v<typename Locking::template per_chunk<pool_traits>, no_column<axis::locking>> &&
      std::is_same_v<typename Reuse::template per_chunk<pool_traits>, no_column<axis::reuse>>;
  /// Whether the checking policy does nothing, or only what checked_array supports.
  static constexpr bool checks_in_place =
      Checking::traits.refuses
          ? Checking::traits.hides_links && !Checking::traits.fills && !Checking::traits.keeps_payload &&
                !Checking::traits.shuffles && !Checking::traits.tells_in_use && !Checking::traits.can_verify &&
                !Checking::traits.tells_reentry && !Checking::traits.knows_owner
          : std::is_same_v<typename Checking::template per_chunk<pool_traits>, no_column<axis::checking>>;
  static constexpr bool holds_objects = Size::traits.holds_objects;
  /// Whether the pool is only an array of blocks, so that there is nothing to allocate, return or count. A walk through its
  /// objects keeps a bit for each block on the stack; if these are too many, the pool uses a chunk.
  static constexpr bool in_place =
      Store::traits.in_place && (!holds_objects || few_blocks<Store>) && one_chunk && grows_as_implied<Store, Growth> &&
      no_columns && !Reuse::traits.needs_chunks &&
      !Locking::traits.keeps_memory && !Locking::traits.keeps_blocks && !Locking::traits.own_free_list &&
      !Retention::traits.returns_chunks && !Exhaustion::traits.reclaims && checks_in_place &&
      !Checking::traits.samples && !Checking::traits.checks_leaving && !Statistics::traits.counts && !Name::traits.is_listed;
  /// Whether chunks have a bit for each block, so that its objects can be walked through; and whether the reuse policy keeps
  /// those bits anyway.
  static constexpr bool is_walked = holds_objects && !in_place;
  static constexpr bool list_has_bits = Reuse::traits.keeps_bitmaps;
  /// Whether a store may run code of the program, which may use the pool: all but tarn's array and buffer, unless derived.
  static constexpr bool store_comes_back = !in_place && !(calls_nobody<Store> && !Exhaustion::traits.has_second());
  /// Whether the pool itself must record that it is at its store.
  static constexpr bool marks_growth =
      store_comes_back && again_of<typename Locking::template state<pool_traits>> == growth_again::nests;
  /// Whether the store's machinery is part of the pool.
  static constexpr bool has_source = !in_place;
  /// Whether an allocation that finds nothing fails at once.
  static constexpr bool ends_empty = in_place && !Exhaustion::traits.retries;
  /// Whether a hit takes the same path as a miss, which does hardly more than a checked hit: 150 bytes less on Cortex-M4.
  static constexpr bool has_one_way = TARN_FOR_SIZE && in_place && Checking::traits.refuses;
  static constexpr bool is_plain_array = in_place && !Checking::traits.refuses;
  using chunks = std::conditional_t<is_plain_array, array_chunk<pool_traits>,
                                    std::conditional_t<in_place, checked_array<pool_traits>, many_chunks<pool_traits>>>;
  using chunk = std::conditional_t<is_plain_array, array_chunk<pool_traits>, detail::chunk<pool_traits>>;

  /// If the pool is an array: the number of bytes from its start to the array, which may pad itself by that. If it were padded
  /// as a whole, it would take up to twice its alignment.
  static constexpr std::size_t bytes_in_front_of_array() noexcept {
    if constexpr (!is_plain_array || arrays_lie_beside) return 0;
    else return round_up(sizeof(typename Reuse::template list<pool_traits>), alignof(std::size_t)) + sizeof(std::size_t);
  }

  static constexpr std::size_t array_alignment() noexcept { return geometry().chunk_alignment(); }  // bytes

  // With few chunks the tree is as fast. If both stores are bounded, there is no memory for a table.
  static constexpr bool has_chunk_table = finds_chunks && max_chunks > 8;
  static constexpr bool keeps_memory = Locking::traits.keeps_memory || has_chunk_table;

  /// Whether there is a red line in front of the record of each chunk, which is used only if the line is intact. The record of
  /// a pool of one chunk is in the pool.
  static constexpr bool guards_records = Checking::traits.hides_links && !one_chunk;

  /// Whether the list holds every free block that was ever carved: it can then be rebuilt from the blocks known to be free.
  static constexpr bool list_holds_all =
      !Reuse::traits.sees_empty_chunks && !Locking::traits.keeps_blocks && !Locking::traits.own_free_list;

  /// Whether a null that is freed may enter the list, which drops it, so that a hit needn't test for it.
  static constexpr bool takes_null = Reuse::traits.drops_null && !Locking::traits.keeps_blocks &&
                                     !Locking::traits.own_free_list && !Exhaustion::traits.needs_frees() &&
                                     !Checking::traits.refuses && !Checking::traits.samples &&
                                     !Statistics::traits.hears_blocks && !memory_tools::active;

  static constexpr bool hears_frees = Exhaustion::traits.hears_frees;
  static constexpr bool waits = Exhaustion::traits.waits;
  static constexpr bool reclaims = Exhaustion::traits.reclaims;
  static constexpr bool grows_ahead = Growth::traits.grows_ahead;
  /// Whether a pool at the limit of its growth policy may get more blocks: from a second store, or on pages that were returned.
  static constexpr bool may_grow_past_cap = Exhaustion::traits.has_second() || grows_ahead || returns_pages;
  static constexpr bool tells_later = Store::traits.tells_later || Exhaustion::traits.tells_later;
  /// Whether the bytes from the store follow from how many blocks were in use at a time. They don't if they also depend on
  /// addresses (tables), on threads (magazines), on a growth policy's value, or on what was returned in between.
  static constexpr bool bytes_follow_from_peak = !store_is_a_buffer && !Exhaustion::traits.has_second() &&
                                                 std::is_empty_v<Growth> && !grows_ahead && !Retention::traits.returns_chunks &&
                                                 !Retention::traits.returns_pages && !Locking::traits.keeps_blocks &&
                                                 !Checking::traits.samples && (one_chunk || !keeps_memory);

  // The constants that the members of a pool depend on. Error messages show their names.
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
  static constexpr bool hides_links = Checking::traits.hides_links;
  static constexpr bool counts = Statistics::traits.counts;
  static constexpr bool is_listed = Name::traits.is_listed;
  static constexpr bool has_maintenance = grows_ahead || Retention::traits.tells_surplus;

  /// Of a chunk's first block: bytes, a power of two. A buffer that the caller sized isn't aligned to cache lines, which could
  /// lose a block. Columns may have words of 64 bits, even if a pointer has 32.
  static constexpr std::size_t chunk_alignment(const geometry& g) noexcept {
    if constexpr (returns_pages) return larger(g.chunk_alignment(), system_pages::least_bytes);
    const std::size_t of_blocks = store_is_a_buffer ? g.alignment() : g.chunk_alignment();
    return alignof(std::uint64_t) > alignof(void*) ? larger(of_blocks, alignof(std::uint64_t)) : of_blocks;
  }
  /// Whether a lower alignment is requested from a store for which this one is slow (up to a cache line); the pool then aligns
  /// the first block itself.
  static constexpr bool aligns_first = Store::traits.cheap_alignment != 0 && !has_bounded_store;
  /// The least alignment that is requested from a store.
  static constexpr std::size_t least_alignment(const geometry& g) noexcept {
    const std::size_t first = chunk_alignment(g);
    if (!aligns_first || first > cache_line) return first;
    return smaller(first, larger(Store::traits.cheap_alignment, alignof(std::uint64_t)));
  }
};

// ---- which pools share their code with pools of other sizes -------------------------------------------------------------- A
// size that is known when the pool is compiled speeds up only the code that computes which block an address is. To compile all
// other code again for each size would take longer and make the program larger: 2.2 MB for twenty sizes at -O0.

/// The size of the blocks in shared code: a number in the pool, not a constant.
/// \tparam Words    pointers that a block holds, if they are few; 0: many
/// \tparam Objects  size_traits::holds_objects
template <std::size_t Words, bool Objects>
class shared_size {
 public:
  using axis = tarn::axis::size;
  static constexpr size_traits traits{.at_run_time = true, .holds_objects = Objects};

  TARN_STEP constexpr shared_size(std::size_t bytes, std::size_t alignment) noexcept : bytes_(bytes), alignment_(alignment) {}

  TARN_STEP constexpr std::size_t bytes() const noexcept { return bytes_; }
  TARN_STEP constexpr std::size_t alignment() const noexcept { return alignment_; }

 private:
  std::size_t bytes_;
  std::size_t alignment_;
};

/// Loops over few words are faster if their number is a constant. Allocating and freeing 5,000 blocks of 16 bytes: 1.75 to 1.40
/// ns a block; of 24 bytes in random order, 1.6 to 1.4 (g++ 12, Zen 5).
template <std::size_t Words, bool Objects>
inline constexpr std::size_t known_words<shared_size<Words, Objects>> = Words;
inline constexpr std::size_t few_words = 8;

/// Not if frequent calls look blocks up, nor if an array or a buffer is sized at compile time.
template <class Size, class Locking, class Store, class Reuse, class Exhaustion, class Checking>
inline constexpr bool shares_code = !Size::traits.at_run_time && !Locking::traits.own_free_list && !Store::traits.bounded &&
                                    !Reuse::traits.finds_chunks && !Exhaustion::traits.has_second() &&
                                    !Checking::traits.finds_chunks;

/// The size that the code of a pool is compiled for: Size, or one that many pools share.
template <class Size, class Locking, class Store, class Reuse, class Exhaustion, class Checking>
constexpr auto choose_size_in_code() noexcept {
  if constexpr (shares_code<Size, Locking, Store, Reuse, Exhaustion, Checking>) {
    constexpr std::size_t words = computed_layout<Size, shape_for<Reuse, Checking>()>().payload() / sizeof(void*);
    return std::type_identity<shared_size<(words <= few_words ? words : 0), Size::traits.holds_objects>>{};
  } else {
    return std::type_identity<Size>{};
  }
}
template <class Size, class Locking, class Store, class Reuse, class Exhaustion, class Checking>
using size_in_code = typename decltype(choose_size_in_code<Size, Locking, Store, Reuse, Exhaustion, Checking>())::type;

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_COMPOSE_POOL_TRAITS_H_

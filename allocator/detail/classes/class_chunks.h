// Where the pools of a size_class_pool get their chunks: from one store for all of them, called by one thread at a time.
//
//   direct_chunks   straight from the store, each as large as the pool's growth policy says
//   tagged_chunks   granules of one size and alignment, cut from the store by a pool of their own. A cache line of each, the
//                   tag, names the pool, so a block's address alone identifies it. A bounded store serves all classes. What
//                   else a pool can have blocks from, here is the granules': a second store, other pools that are asked to trim
//
//   | no. % 8 lines | tag | chunk ...                                 |    a granule
//   | no. % 8 lines | tag | ...          | record | block ...              a region of a block without a class
#ifndef TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_CHUNKS_H_
#define TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_CHUNKS_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/classes/class_exhaustion.h"
#include "tarn/allocator/detail/classes/known_spans.h"
#include "tarn/allocator/detail/classes/owner_policies.h"
#include "tarn/allocator/detail/classes/owner_stores.h"
#include "tarn/allocator/detail/pool/inspector.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/detail/arithmetic.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/locking.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

/// Whether granules lie a multiple of their size apart, wherever the first is: the only region is the array or the buffer.
template <class Store, class Exhaustion>
inline constexpr bool in_one_region = Store::traits.bounded && !Exhaustion::traits.has_second();

/// Whether a bounded store tells what happened there.
template <class Store, class Exhaustion>
inline constexpr bool granules_store_tells =
    (Store::traits.bounded && Store::traits.tells_later) ||
    (Exhaustion::traits.store_is_bounded && Exhaustion::traits.tells_later);

template <class Store, class Exhaustion, class Locking>
class direct_chunks : public owner_stores<Store, Exhaustion, Locking> {
 public:
  static constexpr bool tagged = false;
  static constexpr bool tells_later = owner_stores<Store, Exhaustion, Locking>::can_tell;
  static constexpr bool serves_large = true;
  static constexpr std::size_t large_prefix = 0;
  static constexpr std::size_t large_alignment = 1;
  using exhaustion = std::conditional_t<
      Exhaustion::traits.has_second(), second_of_owner<owner_stores<Store, Exhaustion, Locking>, Exhaustion>,
      std::conditional_t<Exhaustion::traits.reclaims, Exhaustion, class_asks<Exhaustion>>>;  // who reclaims asks siblings, too

  template <class Values>
  constexpr explicit direct_chunks(const Values& values) noexcept : owner_stores<Store, Exhaustion, Locking>(values) {}

  static void belong_to(class_pools) noexcept {}

  /// The exhaustion policy of a class.
  constexpr exhaustion exhaustion_of(const Exhaustion& own, class_pools classes) noexcept {
    if constexpr (Exhaustion::traits.has_second()) return exhaustion(this);
    else if constexpr (Exhaustion::traits.reclaims) return own;
    else return exhaustion{own, classes};
  }

  owned acquire_large(std::size_t bytes, std::size_t alignment) noexcept { return this->acquire_any(bytes, alignment); }
  void release_large(owned region, std::size_t alignment) noexcept { this->release(region, alignment); }

  static constexpr std::size_t trim() noexcept { return 0; }
  static constexpr std::size_t trim_if_idle() noexcept { return 0; }
  static void be_left_alone() noexcept {}
};

/// \tparam Growth   in granules
/// \tparam Granule  bytes, a power of two
/// \tparam Checks   an address that lies in no granule may be looked up, too
/// \tparam Identity  void; of granules in a static owner: some_static_pool, or part_of_static
template <class Store, class Exhaustion, class Locking, class Growth, std::size_t Granule, bool Checks, class Identity>
class tagged_chunks {
  static constexpr bool bounded = Store::traits.bounded;
  static constexpr bool one_region = in_one_region<Store, Exhaustion>;
  // The stores without an end. A bounded one is the granules' own.
  using stores = owner_stores<std::conditional_t<bounded, refusing_store, Store>,
                              std::conditional_t<has_endless_second<Exhaustion>, Exhaustion, report_exhaustion>, Locking>;
  using granule_store = std::conditional_t<bounded, Store, store_of_owner<stores>>;
  using granule_exhaustion = exhaustion_of_granules<Store, Exhaustion, stores>;

  // Where there can be more than one region, granules are aligned to their size. Otherwise to more than a cache line, so that
  // the pool doesn't colour them.
  static constexpr std::size_t granule_alignment = one_region ? 2 * cache_line : Granule;
  using granules = pool<static_size<Granule, granule_alignment>,
                        std::conditional_t<Locking::traits.one_thread, no_locking, shared_locking_of_bounded>, Growth,
                        granule_store, lifo_reuse<>, granule_exhaustion>;

  /// Whether the granules call a store that tells: one with an end, which is theirs.
  static constexpr bool granules_tell = granules_store_tells<Store, Exhaustion>;

  struct unknown_span {};
  struct alignas(cache_line) tag : std::conditional_t<Checks, known_span<tag>, unknown_span> {
    void* whose;  // first, if there is nothing to look up
  };

  // Granules lie a multiple of their size apart, so their first lines would share a set of the first cache, which has 8 or 12
  // lines: with 26 classes, an unsized pair of mixed sizes takes 5.8 instead of 4.9 ns (Zen 5). An array has no room for it.
  static constexpr std::size_t colours = one_region ? 1 : 8;

 public:
  static constexpr bool tagged = true;
  static constexpr bool tells_later = stores::can_tell || granules_tell;
  static constexpr bool has_best_size = false;  // each chunk is a granule
  static constexpr bool serves_large = !bounded || has_endless_second<Exhaustion>;
  static constexpr std::size_t large_prefix = colours * sizeof(tag);
  static constexpr std::size_t large_alignment = Granule;  // of every region for a large block, at least
  static constexpr std::size_t room = Granule - colours * sizeof(tag);
  using exhaustion = exhaustion_of_class<Exhaustion>;

  template <class Values>
  constexpr explicit tagged_chunks(const Values& values) noexcept
      : stores_(values), granules_(granule_values<Values>{values}) {}

  /// Called before anything else, and again for each class, by one thread at a time. Not in the constructor: an array that
  /// holds a constant other than zero would be in the executable.
  void belong_to(class_pools classes) noexcept {
    if (belongs_) return;
    inspector::belong_to(granules_, detail::pointer_to(stores_));
    inspector::belong_to(granules_, classes);
    belongs_ = true;
  }

  /// The exhaustion policy of a class.
  constexpr exhaustion exhaustion_of([[maybe_unused]] const Exhaustion& own, [[maybe_unused]] class_pools classes) noexcept {
    if constexpr (Exhaustion::traits.has_second()) return exhaustion{{}, classes};
    else return exhaustion{own, classes};
  }

  memory acquire(std::size_t bytes, std::size_t, void* whose) noexcept {
    void* const granule = bytes <= room ? inspector::allocate_untold(granules_) : nullptr;
    if (granule == nullptr) return {};
    if constexpr (one_region) phase_.store(address_of(granule) % Granule, memory_order_relaxed);  // always the same
    tag* const t = write_tag(static_cast<std::byte*>(granule), whose);
    if constexpr (Checks) used_.insert(*t, t + 1, room);
    return {t + 1, room};
  }
  void release(memory region, std::size_t) noexcept {
    tag* const t = static_cast<tag*>(region.start) - 1;
    if constexpr (Checks) used_.take_out(*t);
    granules_.deallocate(granule_of(region.start));
  }

  /// No granule, which a class would fill with a magazine or two.
  memory acquire_own(std::size_t bytes, std::size_t alignment) noexcept { return stores_.acquire_own(bytes, alignment); }
  void release_own(memory region, std::size_t alignment) noexcept { stores_.release_own(region, alignment); }
  std::size_t own_bytes() const noexcept { return stores_.own_bytes(); }

  owned acquire_large(std::size_t bytes, std::size_t alignment) noexcept {
    if constexpr (!serves_large) return {};
    const owned got = stores_.acquire_any(bytes, larger(alignment, Granule));
    if (got) write_tag(static_cast<std::byte*>(got.region.start), nullptr);
    return got;
  }
  void release_large(owned region, std::size_t alignment) noexcept { stores_.release(region, larger(alignment, Granule)); }

  bool is_at_store() const noexcept { return stores_.is_at_store(); }
  /// As the same in owner_stores.
  void tell() noexcept {
    stores_.tell();
    if constexpr (granules_tell) inspector::tell(granules_);
  }

  /// Whose chunk the block lies in; null: nobody's, it has no class.
  void* owner_of(const void* block) const noexcept {
    if constexpr (Checks) {
      void* whose = nullptr;
      used_.find(block, [&](const tag& t) { whose = t.whose; });
      return whose;
    }
    if constexpr (serves_large)
      if (address_of(block) % Granule == 0) [[unlikely]] return nullptr;  // aligned so much; a class' blocks never start there
    return std::launder(reinterpret_cast<const tag*>(place_of_tag(granule_of(block))))->whose;
  }

  std::size_t trim() noexcept { return granules_.trim(); }
  std::size_t trim_if_idle() noexcept { return inspector::trim_if_idle(granules_); }
  template <class... Until>
  maintained maintain(const Until&... until) noexcept
    requires requires(granules& all) { all.maintain(until...); }
  {
    return granules_.maintain(until...);
  }
  /// No other pool asks this one any more.
  void be_left_alone() noexcept { inspector::be_left_alone(granules_); }
  void release_all() noexcept {
    granules_.release();
    inspector::end_stores(granules_);
    if constexpr (Checks) used_.leave();
    stores_.release_all();
  }

 private:
  /// The values given to the owner, and those of its own policies.
  template <class Values>
  struct granule_values {
    static constexpr bool nothrow = Values::nothrow;
    const Values& given;
    template <class P>
    constexpr P get() const noexcept {
      if constexpr (one_of<P, store_of_owner<stores>, second_of_owner<stores, Exhaustion>>) return P();
      else if constexpr (std::is_same_v<P, granules_reclaim<Exhaustion>>) return P{given.template get<Exhaustion>()};
      else return given.template get<P>();
    }
    template <class Array>
    static constexpr Array* array_of() noexcept
      requires requires { Values::template array_of<Array>(); }
    {
      return Values::template array_of<Array>();
    }
  };
  struct no_map {};

  /// The start of the granule that the address lies in.
  std::byte* granule_of(const void* address) const noexcept {
    std::size_t at = address_of(address);
    if constexpr (one_region) at -= phase_.load(memory_order_relaxed);
    return static_cast<std::byte*>(const_cast<void*>(address)) - at % Granule;
  }
  static std::byte* place_of_tag(std::byte* granule) noexcept {
    return granule + address_of(granule) / Granule % colours * sizeof(tag);
  }
  static tag* write_tag(std::byte* granule, void* whose) noexcept {
    auto* const t = ::new (place_of_tag(granule)) tag;
    t->whose = whose;
    return t;
  }

  stores stores_;
  typename body_without_end<granules, Identity>::type granules_;
  bool belongs_ = false;
  atomic_word<std::size_t> phase_ = 0;  // where granules start, modulo their size
  TARN_NO_UNIQUE_ADDRESS std::conditional_t<Checks, known_spans<tag, Locking>, no_map> used_;
};

/// Every region from tagged_chunks has the same size, and all of it becomes the chunk.
struct whole_region {
  using axis = tarn::axis::growth;
  static constexpr growth_traits traits{};
  constexpr chunk_request next_chunk(std::size_t, std::size_t, std::size_t) const noexcept { return {1, unlimited}; }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASSES_CLASS_CHUNKS_H_

// A pool of objects that are constructed once and then reused:
//
//   tarn::recycling_pool<Grid, tarn::static_array_store<16>> grids;
//   Grid* g = grids.acquire();       // null: all 16 are in use
//   grids.release(g);                // g->reset()
//
// A slot of the pool is larger than the object, which stays alive while the slot is free:
//
//   | link of the free list | state | padding | T |
#ifndef TARN_ALLOCATOR_RECYCLING_POOL_H_
#define TARN_ALLOCATOR_RECYCLING_POOL_H_

#include <concepts>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/compose/select.h"
#include "tarn/allocator/detail/construct.h"
#include "tarn/allocator/detail/pool/inspector.h"
#include "tarn/allocator/detail/pool/waiting.h"
#include "tarn/allocator/pool.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/memory_tools.h"

namespace tarn {

namespace detail {

/// A type of objects that no pool can destroy.
template <class T>
concept cannot_end = requires { sizeof(T); } && !std::is_nothrow_destructible_v<T>;

/// Replaces a rejected pool of objects: it has every member of such a pool and does nothing.
/// \tparam T  any type; it may be the reason for the complaint
template <class T, class Rejection>
class rejected_objects;
template <class T, class... Complaints>
class rejected_objects<T, rejected<Complaints...>> {
  static_assert(((sizeof(Complaints) != 0) && ...));

 public:
  using value_type = T;
  using pool_type = rejected<>;
  static constexpr bool may_return_chunks = true;
  static constexpr bool has_generations = true;
  static constexpr bool waits = true;
  static constexpr bool has_destructors = false;
  static constexpr bool has_iterators = true;
  using iterator = std::decay_t<T>*;

  constexpr explicit(false) rejected_objects(const auto&...) noexcept {}

  std::decay_t<T>* construct(auto&&...) noexcept { return nullptr; }
  std::decay_t<T>* try_construct(auto&&...) noexcept { return nullptr; }
  std::decay_t<T>* construct_within(auto&&...) noexcept { return nullptr; }
  std::decay_t<T>* make_unique(auto&&...) noexcept { return nullptr; }
  std::decay_t<T>* allocate_shared(auto&&...) noexcept { return nullptr; }
  rejected_objects& here(const auto&...) noexcept { return *this; }
  bool destroy(const auto&...) noexcept { return true; }
  void construct_n(const auto&...) noexcept {}
  std::size_t try_construct_n(const auto&...) noexcept { return 0; }
  std::size_t construct_n_within(const auto&...) noexcept { return 0; }
  void destroy_n(const auto&) noexcept {}
  std::decay_t<T>* get(const auto&) noexcept { return nullptr; }
  void for_each(auto) {}
  bool for_each_while(auto) { return true; }
  std::size_t count() noexcept { return 0; }
  std::decay_t<T>* begin() const noexcept { return nullptr; }
  std::decay_t<T>* end() const noexcept { return nullptr; }
  template <class Anything>
  Anything (erase)(Anything which) noexcept {
    return which;
  }
  const rejected_objects& parts(std::size_t) noexcept { return *this; }
  std::size_t size() const noexcept { return 0; }
  const rejected_objects& operator[](std::size_t) const noexcept { return *this; }
  void (clear)() noexcept {}
  pool_type& blocks() noexcept { return blocks_; }

  std::decay_t<T>* acquire() noexcept { return nullptr; }
  std::decay_t<T>* try_acquire() noexcept { return nullptr; }
  std::decay_t<T>* acquire_within(const auto&) noexcept { return nullptr; }
  bool release(const auto&...) noexcept { return true; }
  std::size_t capacity() const noexcept { return 0; }
  bool try_reserve(std::size_t) noexcept { return false; }
  bool owns(const volatile void*) const noexcept { return false; }

 private:
  pool_type blocks_;
};

// A store over any other, whose regions are all zero; and an exhaustion policy whose second store returns such regions.

/// \tparam Base    what returns regions: the source of a store, or the state of an exhaustion policy
/// \tparam Zeroed  they are zero already
template <class Base, bool Zeroed = false>
struct zeroing : Base {
  using Base::Base;
  memory acquire(std::size_t bytes, std::size_t boundary) noexcept {
    const memory region = Base::acquire(bytes, boundary);
    if (!Zeroed && region) std::memset(region.start, 0, region.bytes);
    return region;
  }
};

template <class Store>
struct zeroed_store : Store {
  static constexpr auto traits = Store::traits.wrapped();  // nothing would zero an array in the pool

  constexpr zeroed_store()
    requires std::default_initializable<Store>
  = default;
  constexpr explicit zeroed_store(const Store& store) noexcept : Store(store) {}

  template <class Traits>
  using source = zeroing<typename Store::template source<Traits>, Store::traits.zeroed>;
};

template <class P>
concept has_second_store = policy_on<P, axis::exhaustion> && P::traits.has_second();

template <class Exhaustion>
struct zeroed_second_store : Exhaustion {
  constexpr zeroed_second_store()
    requires std::default_initializable<Exhaustion>
  = default;
  constexpr explicit zeroed_second_store(const Exhaustion& policy) noexcept : Exhaustion(policy) {}

  template <class Traits>
  using state = zeroing<typename Exhaustion::template state<Traits>>;
};

/// A checking policy that overwrites free blocks, or keeps blocks for itself.
template <class P>
concept keeps_no_content = checking_policy<P> && (P::traits.fills || P::traits.samples);
/// An exhaustion policy with which others take free blocks.
template <class P>
concept gives_content_away = policy_on<P, axis::exhaustion> && P::traits.reclaims;

template <class P>
struct zeroed_policy : std::type_identity<P> {};
template <class P>
  requires policy_on<P, axis::store>
struct zeroed_policy<P> : std::type_identity<zeroed_store<P>> {};
template <class P>
  requires has_second_store<P>
struct zeroed_policy<P> : std::type_identity<zeroed_second_store<P>> {};

enum class recycled : unsigned char { unmade, idle, out, leaving };  // zero first, so fresh memory is `unmade`
/// What is stored in front of the object.
struct recycled_header {
  free_link link;  // used by the free list while the slot is free; it leaves the rest alone
  recycled is;
};
template <class T>
inline constexpr std::size_t recycled_offset = round_up(sizeof(recycled_header), alignof(T));
template <class T>
using recycled_slot =
    by_product<static_size<recycled_offset<T> + sizeof(T), larger(alignof(T), alignof(recycled_header))>>;
template <class T, class... Policies>
using pool_of_recycled = typename policy_list<typename zeroed_policy<Policies>::type...>::template with_default<
    axis::store, zeroed_store<heap_store>>::template into<pool, recycled_slot<T>, by_product<lifo_reuse<>>>;

}  // namespace detail

/// \tparam T         default-constructible, with a member function reset() that prepares it for its next user
/// \tparam Policies  as for pool<...>, without a size and a reuse policy
template <class T, class... Policies>
class recycling_pool {
  static_assert(
      requires(T& object) { object.reset(); },
      "tarn: [O2] recycling_pool was given a type without a public reset(), which prepares a used object for its next use; "
      "write void reset(), or use object_pool");
  static_assert(
      std::is_default_constructible_v<T> || detail::cannot_end<T>,
      "tarn: [O3] recycling_pool was given a type without a public default constructor, but it constructs objects without "
      "arguments; add one, or use object_pool");
  static_assert(!detail::cannot_end<T>,
                "tarn: [O5] a pool of objects was given a type whose destructor may throw, which nothing could catch, or isn't "
                "public; declare it public and noexcept");

  static_assert(!(detail::keeps_no_content<Policies> || ...),
                "tarn: [O4] recycling_pool was given a checking policy that overwrites or blocks access to free blocks, in "
                "which it keeps idle objects; use hardened, or object_pool");
  static_assert(!(detail::gives_content_away<Policies> || ...),
                "tarn: [O6] recycling_pool was combined with reclaim_and_retry, with which other pools would take the free "
                "blocks in which it keeps idle objects; drop the policy, or use object_pool");

  using state = detail::recycled;
  using header = detail::recycled_header;
  using pool_type = detail::pool_of_recycled<T, Policies...>;
  static constexpr std::size_t offset = detail::recycled_offset<T>;

 public:
  using value_type = T;  // the type of the objects

  /// As of a basic_pool.
  template <class... Given>
  constexpr explicit(sizeof...(Given) == 1) recycling_pool(const Given&... given) noexcept(
      detail::copies_cannot_throw<Given...>)
      : slots_(typename detail::zeroed_policy<Given>::type(given)...) {}
  recycling_pool(const recycling_pool&) = TARN_DELETED("tarn: [C14] a pool can't be copied or moved; take a reference");
  void operator=(const recycling_pool&) = TARN_DELETED("tarn: [C14] a pool can't be copied or moved; take a reference");
  /// Destroys all objects, each once, including those in use (which isn't a leak). A destructor may release and acquire others,
  /// but no new ones are constructed.
  ~recycling_pool() {
    constexpr bool is_looked_at = detail::inspector::can_refuse<pool_type>();
    if constexpr (!std::is_trivially_destructible_v<T> || is_looked_at) {
      ends_ = true;
      detail::inspector::end_waiting(slots_);
      detail::inspector::drained(slots_).chunks.each_carved([this](void* slot) {
        const state was = detail::replace(header_of(slot)->is, state::unmade);
        if (was == state::unmade) return;
        std::destroy_at(object_of(slot));
        if (is_looked_at && was == state::out) slots_.deallocate(slot);
      });
    }
  }

  /// Returns an object, a new one or one that was released and reset; null if there are no more. Waits for one under
  /// wait_for_block.
  /// Throws: what T's constructor throws; the pool is then unchanged.
  [[nodiscard]] T* acquire() { return object_at(detail::inspector::allocate_or_null(slots_, detail::waits_as_usual())); }
  /// Like acquire(), but never waits. Returns an object, or null. Throws: as acquire().
  [[nodiscard]] T* try_acquire() { return object_at(slots_.try_allocate()); }
  /// Like acquire(), but waits as a pool's allocate_within(). Returns an object, or null when the time is over.
  /// Throws: as acquire().
  template <detail::time_span Duration>
  [[nodiscard]] T* acquire_within(const Duration& timeout)
    requires(detail::inspector::waits(static_cast<const pool_type*>(nullptr)))
  {
    return object_at(slots_.allocate_within(timeout));
  }

  /// Resets an object and takes it back. Returns false, and does nothing, if it isn't this pool's, was already released, or is
  /// null.
  /// Throws: what reset() throws; the object is then destroyed.
  bool release(T* object) {
    void* const slot = slot_of(object);
    if (!detail::inspector::is_block(slots_, slot) || header_of(slot)->is != state::out) return false;
    header_of(slot)->is = state::leaving;  // also for a reset() or a destructor that releases it
    returning back{*this, slot};
    object->reset();
    back.becomes = state::idle;
    return true;
  }

  /// Returns the number of objects that the pool has room for before it must grow.
  std::size_t capacity() const noexcept { return slots_.capacity(); }
  /// Gets room for that many objects. Returns whether it could.
  bool try_reserve(std::size_t objects) noexcept { return slots_.try_reserve(objects); }
  /// Whether an object of this pool is there, in use or not.
  bool owns(const T* object) const noexcept {
    void* const slot = slot_of(object);
    return detail::inspector::is_block(slots_, slot) && header_of(slot)->is != state::unmade;
  }

 private:
  T* object_at(void* slot) {
    if (slot == nullptr) return nullptr;
    open(slot);
    if (header_of(slot)->is == state::unmade && ends_) return give_back(slot), nullptr;  // maybe the one being destroyed
    detail::unkept_block unkept(slots_, slot);
    if (header_of(slot)->is == state::unmade) ::new (object_in(slot)) T();
    header_of(slot)->is = state::out;
    unkept.keep();
    return object_of(slot);
  }

  /// For tools, a free slot isn't freed memory, because there is an object in it.
  static void open(void* slot) noexcept { detail::memory_tools::unpoison(slot, offset + sizeof(T)); }
  static header* header_of(void* slot) noexcept {
    detail::memory_tools::unpoison(slot, sizeof(header));  // it may never have been allocated
    return std::launder(static_cast<header*>(slot));
  }
  static void* object_in(void* slot) noexcept { return static_cast<std::byte*>(slot) + offset; }
  static T* object_of(void* slot) noexcept { return std::launder(static_cast<T*>(object_in(slot))); }
  static void* slot_of(const T* object) noexcept {
    return reinterpret_cast<void*>(detail::address_of(object) - offset);  // any address, even a foreign one
  }

  void give_back(void* slot) noexcept {
    slots_.deallocate(slot);
    open(slot);
  }
  /// Frees a slot in its destructor: without the object, unless that is `idle` by then.
  struct returning {
    recycling_pool& pool;
    void* slot;
    state becomes = state::unmade;
    ~returning() {
      if (becomes == state::unmade) std::destroy_at(object_of(slot));
      header_of(slot)->is = becomes;
      pool.give_back(slot);
    }
  };

  pool_type slots_;
  bool ends_ = false;
};

/// After a complaint about its pool.
template <class T, class... Policies>
  requires detail::is_rejected<detail::pool_of_recycled<T, Policies...>>
class recycling_pool<T, Policies...>
    : public detail::rejected_objects<T, typename detail::rejection_of<detail::pool_of_recycled<T, Policies...>>::type> {
 public:
  constexpr explicit(false) recycling_pool(const auto&...) noexcept {}
};

}  // namespace tarn

#endif  // TARN_ALLOCATOR_RECYCLING_POOL_H_

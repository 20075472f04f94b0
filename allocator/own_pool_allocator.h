// An allocator of the standard library with which a container has its own pool:
//
//   std::list<int, tarn::own_pool_allocator<int>> l;       the pool is made when the first element comes
//   auto m = std::move(l);                                 it goes along
//   tarn::clear_at_once(m);                                all elements go without a visit, in O(chunks)
//
// Copies of an allocator share its pool, even for other types; the last one destroys it. So a container shares its pool with
// what has its nodes (a node handle, a container that it was moved to), and a copy of the container has another.
#ifndef TARN_ALLOCATOR_OWN_POOL_ALLOCATOR_H_
#define TARN_ALLOCATOR_OWN_POOL_ALLOCATOR_H_

#include <cstddef>
#include <new>
#include <type_traits>
#include <version>

#include "tarn/allocator/detail/classes/class_stores.h"
#include "tarn/allocator/detail/classes/size_class_body.h"
#include "tarn/allocator/detail/compose/select.h"
#include "tarn/allocator/detail/construct.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/size_class_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/policies/axis.h"
#include "tarn/policies/exhaustion.h"
#include "tarn/policies/platform/atomic_word.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/standard_allocator.h"
#include "tarn/policies/size.h"

namespace tarn {

namespace detail {

// What copies of an own_pool_allocator share: own_blocks.
//
//   allocate_node    find: the pool of the nodes, if they have that size     none yet: make     another size: allocate_array
//   allocate_array   find: the pool of everything else, by size class        none yet: make

/// A pool that is created when it is first used, in memory of the owner's store.
template <class Pool, class Stores>
class pool_made_late {
 public:
  struct member : class_member<Pool> {
    member(std::size_t of, owned where, const auto&... given) : class_member<Pool>(where, given...), bytes(of) {}
    const std::size_t bytes;  // of a node
  };

  /// Returns it, or null.
  TARN_STEP member* find() const noexcept { return made_.load(memory_order_acquire); }
  /// The same, but makes it; null if there is no memory. If another thread was faster, returns that thread's.
  /// Throws: what copies of the policies throw.
  member* make(Stores& stores, std::size_t bytes, const auto&... given) {
    room at{stores, stores.acquire_any(sizeof(member), alignof(member))};
    if (!at.place) return nullptr;
    member* const its = ::new (at.place.region.start) member(bytes, at.place, given...);
    member* other = nullptr;
    if (!made_.compare_exchange_strong(other, its, memory_order_acq_rel)) {
      its->~member();
      return other;
    }
    at.place = {};
    return its;
  }
  void end(Stores& stores) noexcept {
    member* const its = made_.load(memory_order_acquire);
    if (its == nullptr) return;
    const room at{stores, its->place};
    its->~member();
  }

 private:
  struct room {
    Stores& stores;
    owned place;
    ~room() {
      if (place) stores.release(place, alignof(member));
    }
  };
  // Order: exchange acquire and release, also if it fails; load acquire. The pool is constructed before the exchange. The
  // slower thread uses what the faster one created.
  atomic_word<member*> made_ = nullptr;
};

/// \tparam Pool  the composition, with dynamic_size
template <class Pool>
class own_blocks;
template <class Locking, class Growth, class Store, class... Others>
class own_blocks<basic_pool<dynamic_size, Locking, Growth, Store, Others...>>
    : kept_policy<Locking>, kept_policy<Growth>, kept_policy<Store>, kept_policy<Others>... {
  using stores = direct_chunks<Store, report_exhaustion, Locking>;
  using store = store_of_owner<stores>;
  using source = typename Store::template source<owner_traits>;
  using node_pool = basic_pool<dynamic_size, Locking, Growth, store, Others...>;
  using array_pool = size_class_pool<Locking, Growth, store, Others...>;
  template <class Made>
  using made_late = pool_made_late<Made, stores>;

 public:
  using policies = policy_types<Locking, Growth, Store, Others...>;
  static constexpr bool has_defaults =
      (std::is_default_constructible_v<Store> && ... && std::is_default_constructible_v<Others>);
  static constexpr bool has_values = !(std::is_empty_v<Store> && ... && std::is_empty_v<Others>);
  static constexpr bool may_return_chunks = Locking::traits.may_return_chunks;

  /// Returns new ones, which one allocator has; null if the store gives no memory. The values are policy objects, as for a
  /// pool, or another of these.
  /// Throws: what copies of the policies throw.
  static own_blocks* make(const auto& values) {
    region_of_store at(values.template get<Store>());
    at.region = at.from.acquire(sizeof(own_blocks), alignof(own_blocks));
    if constexpr (Store::traits.tells_later) at.from.tell();
    if (!at.region) return nullptr;
    auto* const all = ::new (at.region.start) own_blocks(values, at.region);
    at.region = {};
    return all;
  }
  own_blocks(const own_blocks&) = delete;

  /// One allocator more has them; `users` fewer, and the last destroys them.
  TARN_STEP void join() noexcept { users_.fetch_add(1, memory_order_relaxed); }
  void leave(std::size_t users = 1) noexcept {
    if (users_.fetch_sub(users, memory_order_acq_rel) == users) end();
  }
  std::size_t users() const noexcept { return users_.load(memory_order_acquire); }

  /// Return a block, or throw, as the pools do.
  template <std::size_t Bytes, std::size_t Alignment>
  TARN_STEP void* allocate_node() {
    auto* const its = nodes_.find();
    if (its != nullptr && its->bytes == Bytes) [[likely]]
      return detail::must_allocate(its->pool);
    return allocate_first(Bytes, Alignment);
  }
  void* allocate_array(std::size_t bytes, std::size_t alignment) {
    return detail::must_allocate(made(arrays_.find(), arrays_)->pool, bytes, alignment);
  }
  /// Precondition: the one above returned the block for the same size.
  template <std::size_t Bytes, std::size_t Alignment>
  TARN_STEP void deallocate_node(void* block) noexcept {
    auto* const its = nodes_.find();  // since the first node
    if (its->bytes == Bytes) [[likely]]
      return its->pool.deallocate(block);
    deallocate_array(block, Bytes, Alignment);
  }
  void deallocate_array(void* block, std::size_t bytes, std::size_t alignment) noexcept {
    arrays_.find()->pool.deallocate(block, bytes, alignment);
  }
  static constexpr std::size_t class_size(std::size_t bytes, std::size_t alignment) noexcept {
    return array_pool::class_size(bytes, alignment);
  }

  std::size_t trim() noexcept {
    std::size_t bytes = 0;
    if (auto* const its = nodes_.find()) bytes += its->pool.trim();
    if (auto* const its = arrays_.find()) bytes += its->pool.trim();
    return bytes;
  }
  void release() noexcept {
    if (auto* const its = nodes_.find()) its->pool.release();
    if (auto* const its = arrays_.find()) its->pool.release();
  }

  /// As the values of a pool's constructor: of their own policies.
  template <class P>
  decltype(auto) get() const noexcept {
    if constexpr (std::is_base_of_v<kept_policy<P>, own_blocks>) return kept_policy<P>::value();
    else return P{};
  }

 private:
  /// Their own place, for which there is no pool yet, or no more.
  struct region_of_store {
    source from;
    memory region;
    explicit region_of_store(const Store& policy) noexcept : from(policy), region{} {}
    region_of_store(const region_of_store&) = delete;
    ~region_of_store() {
      if (region) from.release(region, alignof(own_blocks));
      if constexpr (Store::traits.has_end) from.end();
    }
  };

  own_blocks(const auto& values, memory place)
      : kept_policy<Locking>(values.template get<Locking>()),
        kept_policy<Growth>(values.template get<Growth>()),
        kept_policy<Store>(values.template get<Store>()),
        kept_policy<Others>(values.template get<Others>())...,
        stores_(values),
        place_(place) {}
  ~own_blocks() {
    arrays_.end(stores_);
    nodes_.end(stores_);
    stores_.release_all();
  }

  TARN_NOINLINE void end() noexcept {
    region_of_store at(kept_policy<Store>::value());
    at.region = place_;
    this->~own_blocks();
  }
  TARN_COLD void* allocate_first(std::size_t bytes, std::size_t alignment) {
    auto* const its = made(nodes_.find(), nodes_, bytes, dynamic_size(bytes));
    if (its->bytes != bytes) return allocate_array(bytes, alignment);
    return detail::must_allocate(its->pool);
  }
  template <class Made, class Late, class... Size>
  Made* made(Made* its, Late& late, std::size_t bytes = 0, const Size&... size) {
    if (its != nullptr) [[likely]]
      return its;
    its = late.make(stores_, bytes, size..., store(detail::pointer_to(stores_), nullptr), kept_policy<Locking>::value(),
                    kept_policy<Growth>::value(), kept_policy<Others>::value()...);
    if constexpr (stores::tells_later) stores_.tell();
    return static_cast<Made*>(detail::or_fail(its));
  }

  // Order: one less: acquire and release, one more: relaxed; load acquire. The thread that takes away the last user sees what
  // all others did to the pool. A new user is a copy of one that stays during this.
  atomic_word<std::size_t> users_ = 1;
  made_late<node_pool> nodes_;
  made_late<array_pool> arrays_;
  stores stores_;
  memory place_;
};

/// What is left of a refused composition.
struct rejected_own_blocks {
  using policies = policy_types<>;
  static constexpr bool has_defaults = true, has_values = false, may_return_chunks = true;
  static rejected_own_blocks* make(const auto&...) noexcept { return nullptr; }
  static void join() noexcept {}
  static void leave(std::size_t = 1) noexcept {}
  static std::size_t users() noexcept { return 0; }
  template <std::size_t, std::size_t>
  static void* allocate_node() noexcept {
    return nullptr;
  }
  static void* allocate_array(std::size_t, std::size_t) noexcept { return nullptr; }
  template <std::size_t, std::size_t>
  static void deallocate_node(void*) noexcept {}
  static void deallocate_array(void*, std::size_t, std::size_t) noexcept {}
  static constexpr std::size_t class_size(std::size_t, std::size_t) noexcept { return 0; }
  static std::size_t trim() noexcept { return 0; }
  static void release() noexcept {}
};

template <bool HasEnd>
struct own_store_complaint {
  static_assert(!HasEnd,
                "tarn: [Q1] own_pool_allocator was given a store that has one region (static_array_store, buffer_store), but "
                "several sizes share each container's own pool; use fixed_container, or stl_allocator over a size_class_pool");
};

template <class... Ps>
constexpr auto judge_own() noexcept {
  constexpr bool has_end = (brings_bounded_store<Ps> || ...);
  if constexpr (has_end) {
    return std::type_identity<rejected<own_store_complaint<has_end>>>{};
  } else {
    using nodes = pool<by_product<dynamic_size>, Ps...>;
    if constexpr (is_rejected<nodes>) return std::type_identity<nodes>{};
    else if constexpr (requires { typename class_selection<Ps...>::rejection; })
      return std::type_identity<typename class_selection<Ps...>::rejection>{};
    else return std::type_identity<nodes>{};
  }
}
template <class... Ps>
using judged_own = typename decltype(judge_own<Ps...>())::type;
/// The composition with dynamic_size, or what it is rejected as.
template <class... Ps>
using own_composition =
    typename policy_list<Ps...>::template with_default<axis::reuse, lifo_reuse<>>::template into<judged_own>;

template <class Composition>
struct blocks_of_composition : std::type_identity<own_blocks<Composition>> {};
template <class... Complaints>
struct blocks_of_composition<rejected<Complaints...>> : std::type_identity<rejected_own_blocks> {};
template <class... Ps>
using own_blocks_of = typename blocks_of_composition<own_composition<Ps...>>::type;

template <class Composition>
inline constexpr bool own_holds = true;
template <class... Complaints>
inline constexpr bool own_holds<rejected<Complaints...>> = sizeof(rejected<Complaints...>) != 0;

/// Whether the pool of the nodes serves T: its blocks are aligned as their size is, at most as std::max_align_t.
template <class T>
inline constexpr bool is_node = alignof(T) <= natural_alignment(sizeof(T));

}  // namespace detail

/// Allocates from a pool that only its copies share, even for other types; equal to them. The pool is created by the first
/// allocation, and returns its chunks in O(chunks) when the last copy is destroyed. Nodes (the first size of a single object)
/// have blocks of their size; arrays, other sizes and alignments above std::max_align_t have a size_class_pool over the same
/// store. A copied container gets its own pool; copy assignment keeps the target's; moving and swapping take the pool along, in
/// constant time. A container that was moved from shares the pool until it is assigned to.
/// \tparam Policies  as for pool<...>, without a size and a bounded store; by default no_locking and lifo_reuse<>. The locking
///                   policy says whether threads may use containers that share a pool at once; any thread may copy and destroy
///                   allocators
template <class T, class... Policies>
class own_pool_allocator {
  using shared = detail::own_blocks_of<Policies...>;
  static_assert(detail::own_holds<detail::own_composition<Policies...>>);
  template <class, class...>
  friend class own_pool_allocator;

 public:
  /// As the standard requires of an allocator.
  using value_type = T;
  using is_always_equal = std::false_type;
  using propagate_on_container_copy_assignment = std::false_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  /// Without a pool yet; allocates nothing.
  constexpr own_pool_allocator() noexcept
    requires(shared::has_defaults)
  = default;
  /// \param given  policy objects, as for a pool. What copies share is allocated immediately.
  /// Throws: std::bad_alloc if the store gives no memory; what copies of the policies throw.
  template <class... Given>
    requires(sizeof...(Given) != 0 && (policy<Given> && ...))
  constexpr explicit own_pool_allocator(const Given&... given)
      : shared_(made(detail::accept_values<typename shared::policies>(given...))) {}

  /// Shares the pool. If nothing was allocated yet, takes some 100 bytes from the store, and aborts if there are none, because
  /// a copy of an allocator must not fail.
  own_pool_allocator(const own_pool_allocator& other) noexcept : shared_(other.share()) {}
  template <class U>
  own_pool_allocator(const own_pool_allocator<U, Policies...>& other) noexcept : shared_(other.share()) {}
  /// Leaves its pool, and shares the other's. Returns itself.
  own_pool_allocator& operator=(const own_pool_allocator& other) noexcept {
    own_pool_allocator copy(other);
    swap(*this, copy);
    return *this;
  }
  /// The last copy destroys the pool, in O(chunks). Precondition: in that case, no block is in use.
  ~own_pool_allocator() {
    if (shared* const its = now()) its->leave();
  }
  /// Exchanges the pools.
  friend void swap(own_pool_allocator& a, own_pool_allocator& b) noexcept {
    shared* const its = a.now();
    a.shared_.store(b.now(), detail::memory_order_relaxed);
    b.shared_.store(its, detail::memory_order_relaxed);
  }

  /// As of an stl_allocator.
  [[nodiscard]] T* allocate(std::size_t count) {
    shared* its = now();
    if (its == nullptr) [[unlikely]]
      its = first_use();
    if constexpr (detail::is_node<T>)
      if (count == 1) [[likely]]
        return static_cast<T*>(its->template allocate_node<sizeof(T), alignof(T)>());
    return static_cast<T*>(its->allocate_array(detail::bytes_of<T>(count), alignof(T)));
  }
#ifdef __cpp_lib_allocate_at_least
  /// As allocate(); also returns for how many objects there is room. deallocate() takes any number from `count` to that.
  [[nodiscard]] std::allocation_result<T*> allocate_at_least(std::size_t count) {
    T* const objects = allocate(count);
    return {objects, detail::room_for<T>(count, shared::class_size(count * sizeof(T), alignof(T)))};
  }
#endif
  /// As of an stl_allocator.
  void deallocate(T* objects, std::size_t count) noexcept {
    if (count == 0 && objects == nullptr) return;
    if constexpr (detail::is_node<T>)
      if (count == 1) [[likely]]
        return now()->template deallocate_node<sizeof(T), alignof(T)>(objects);
    now()->deallocate_array(objects, count * sizeof(T), alignof(T));
  }

  /// Returns an allocator with its own pool and the same policy objects. Throws: as the constructor from policy objects, if
  /// there are any.
  own_pool_allocator select_on_container_copy_construction() const {
    if constexpr (shared::has_values)
      if (const shared* const its = seen()) return own_pool_allocator(made(*its));
    if constexpr (shared::has_defaults) return own_pool_allocator();
    else return *this;  // never: it was given values
  }

  /// Returns empty chunks to the store. Returns their bytes. Precondition: as for an allocation.
  std::size_t trim() noexcept
    requires(shared::may_return_chunks)
  {
    shared* const its = now();
    return its == nullptr ? 0 : its->trim();
  }

  /// Returns whether one is the other, or a copy of it.
  template <class U>
  friend bool operator==(const own_pool_allocator& a, const own_pool_allocator<U, Policies...>& b) noexcept {
    return a.equals(b);
  }

 private:
  template <class Container>
  friend void clear_at_once(Container&);

  template <class U>
  bool equals(const own_pool_allocator<U, Policies...>& other) const noexcept {
    const shared* const its = seen();
    if (its != nullptr) return its == other.seen();
    return static_cast<const void*>(this) == static_cast<const void*>(&other);
  }
  explicit own_pool_allocator(shared* its) noexcept : shared_(its) {}

  /// As its only owner sees it, and as other threads see it, which copy or compare it at the same time.
  TARN_STEP shared* now() const noexcept { return shared_.load(detail::memory_order_relaxed); }
  shared* seen() const noexcept { return shared_.load(detail::memory_order_acquire); }

  static shared* made(const auto& values) { return static_cast<shared*>(detail::or_fail(shared::make(values))); }
  TARN_COLD shared* first_use() const {
    if constexpr (shared::has_defaults) {
      shared* const its = made(detail::values<>());
      shared* other = nullptr;
      if (shared_.compare_exchange_strong(other, its, detail::memory_order_acq_rel)) return its;
      its->leave();
      return other;
    } else {
      TARN_UNREACHABLE();  // it was given values
    }
  }
  shared* share() const noexcept {
    shared* its = seen();
    if (its == nullptr) [[unlikely]]
      its = first_use();
    its->join();
    return its;
  }

  // Order: exchange acquire and release, also if it fails; load acquire; by the allocator's own thread relaxed. What the
  // address leads to is constructed before the exchange. The slower thread uses what the faster one created.
  mutable detail::atomic_word<shared*> shared_ = nullptr;
};

namespace detail {

template <class Container>
constexpr bool leaves_nothing() noexcept {
  if constexpr (!std::is_trivially_destructible_v<typename Container::value_type>) return false;
  else if constexpr (has_comparator<Container>) return std::is_trivially_destructible_v<typename Container::key_compare>;
  else return true;
}

template <bool OfNodes, bool LeavesNothing>
struct clearing_complaint {
  static_assert(OfNodes,
                "tarn: [Q2] clear_at_once was given something that isn't a list, map or set; use its own clear()");
  static_assert(!OfNodes || LeavesNothing,
                "tarn: [Q3] clear_at_once was given a container whose elements or comparator have a destructor, which it "
                "wouldn't call; use its own clear()");
};

/// An empty container whose destructor doesn't run.
template <class Container>
union husk {
  template <class Allocator>
    requires(has_comparator<Container>)
  husk(const Container& like, const Allocator& its) : container(like.key_comp(), its) {}
  husk(const Container&, const auto& its) : container(its) {}
  ~husk() {}
  void end() noexcept { container.~Container(); }

  Container container;
};

}  // namespace detail

/// Empties a list, map or set with an own_pool_allocator without visiting its elements: the pool returns all chunks, in
/// O(chunks), and the container gets another pool. All iterators, including end(), and references become invalid. Does what
/// clear() does if something else has a copy of the allocator, such as a node handle or a container that was moved from, and in
/// libstdc++'s debug mode. Not for hash tables, which have two allocators in libc++. Throws: as the container's constructor and
/// select_on_container_copy_construction(); in that case, nothing has changed.
template <class Container>
void clear_at_once(Container& container) {
  constexpr bool of_nodes = detail::is_of_nodes<Container>;
  constexpr bool leaves_nothing = detail::leaves_nothing<Container>();
  [[maybe_unused]] detail::clearing_complaint<of_nodes, leaves_nothing> complaint;
  if constexpr (detail::containers_know_iterators) {
    (container.clear)();
  } else if constexpr (of_nodes && leaves_nothing) {
    auto its = container.get_allocator();
    const auto next = its.select_on_container_copy_construction();
    detail::husk<Container> old(container, next);
    const std::size_t held_by_one = next.now()->users() - 1;  // copies of the allocator in a container
    if (its.now()->users() != held_by_one + 1) {
      old.end();
      return (container.clear)();
    }
    swap(container, old.container);
    its.now()->release();
    its.now()->leave(held_by_one);
  }
}

}  // namespace tarn

#endif  // TARN_ALLOCATOR_OWN_POOL_ALLOCATOR_H_

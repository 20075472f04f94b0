// Pools of objects:
//
//   tarn::object_pool<Order> orders;
//   Order* o = orders.construct(1, 9.5);       // its constructor's arguments
//   orders.destroy(o);
//
// recycling_pool, for objects that are constructed once and reused, has its own header, which this one includes.
#ifndef TARN_ALLOCATOR_OBJECT_POOL_H_
#define TARN_ALLOCATOR_OBJECT_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "tarn/allocator/detail/compose/select.h"
#include "tarn/allocator/detail/construct.h"
#include "tarn/allocator/detail/pool/clearing.h"
#include "tarn/allocator/detail/pool/inspector.h"
#include "tarn/allocator/detail/pool/object_iterator.h"
#include "tarn/allocator/detail/pool/waiting.h"
#include "tarn/allocator/handle.h"
#include "tarn/allocator/object_ptr.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/recycling_pool.h"
#include "tarn/allocator/stl_allocator.h"
#include "tarn/policies/checking/misuse.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/platform/config.h"

namespace tarn {

namespace detail {

/// As Pool, but without what would make for_each(), clear() and the destructor take a block for an object that there isn't.
template <class Pool>
class object_blocks : public Pool {
 public:
  using Pool::Pool;
  constexpr object_blocks() noexcept {}  // without it, the array in front of a new pool would be cleared: 2 KiB

  template <class Never = void>
  bool reserve_blocks(std::size_t) {
    static_assert(!std::is_void_v<Never>, "tarn: [O7] blocks were reserved in an object_pool, but a reserved block isn't an "
                                          "object; use a pool<size_of<T>>");
    return false;
  }
  template <class Never = void>
  bool try_reserve_blocks(std::size_t blocks) {
    return reserve_blocks<Never>(blocks);
  }
};

// What a pool of objects asks of a type. Of one that is only declared nothing is said here: size_of<T> refuses it.
template <class T>
concept abstract_class = requires { sizeof(T); } && std::is_abstract_v<T>;

template <class T>
inline constexpr bool is_one_object = std::is_object_v<T> && !std::is_array_v<T> && !abstract_class<T>;

template <class T>
struct object_complaint {
  static_assert(is_one_object<T>,
                "tarn: [O1] object_pool was given an array, a reference, a function, void or an abstract class, which it can't "
                "construct; give the type of one object");
};
template <class T, class... Policies>
struct rejection_of_objects : std::type_identity<rejected<object_complaint<T>>> {};
template <class T, class... Policies>
  requires is_one_object<T>
struct rejection_of_objects<T, Policies...> : rejection_of<pool<by_product<size_of_object<T>>, Policies...>> {};

}  // namespace detail

/// A pool of objects of one type. Its destructor destroys the objects that are left.
/// \tparam T         an object type, not an array
/// \tparam Policies  as for pool<...>, without a size
template <class T, class... Policies>
class object_pool {
  static_assert(!detail::cannot_end<T>,
                "tarn: [O5] a pool of objects was given a type whose destructor may throw, which nothing could catch, or isn't "
                "public; declare it public and noexcept");

 public:
  using value_type = T;  // the type of the objects
  using pool_type = pool<detail::by_product<detail::size_of_object<T>>, Policies...>;  // the pool of their blocks

  /// Whether there are release() and handles.
  static constexpr bool may_return_chunks = requires(pool_type& blocks) { blocks.release(); };
  static constexpr bool has_generations = detail::inspector::has_generations(static_cast<const pool_type*>(nullptr));
  /// Whether calls wait for a block: under wait_for_block.
  static constexpr bool waits = detail::inspector::waits(static_cast<const pool_type*>(nullptr));
  /// Whether there are iterators and parts(): not on guarded pages, or if free blocks wait in magazines (thread_cached) or on a
  /// stack (lock_free); by default not over an array of at most 32,768 blocks.
  static constexpr bool has_iterators = detail::iterators_of<T, pool_type>::exist;
  using iterator = typename detail::iterators_of<T, pool_type>::type;  // what begin() returns

  using deleter = object_deleter<T, Policies...>;  // of unique_ptr
  using unique_ptr = object_ptr<T, Policies...>;   // what make_unique() returns

  /// What here() returns.
  class maker {
   public:
    /// As of an object_pool.
#if TARN_EXCEPTIONS
    template <class... Args>
    [[nodiscard]] T* construct(Args&&... args) const {
      return noted(pool_.construct(std::forward<Args>(args)...));
    }
    template <class... Args>
    [[nodiscard]] unique_ptr make_unique(Args&&... args) const {
      return unique_ptr(construct(std::forward<Args>(args)...), deleter(detail::pointer_to(pool_)));
    }
#endif
    template <class... Args>
    [[nodiscard]] T* try_construct(Args&&... args) const {
      return noted(pool_.try_construct(std::forward<Args>(args)...));
    }
    template <detail::time_span Duration, class... Args>
    [[nodiscard]] T* construct_within(const Duration& timeout, Args&&... args) const
      requires(waits)
    {
      return noted(pool_.construct_within(timeout, std::forward<Args>(args)...));
    }

   private:
    friend object_pool;
    maker(object_pool& pool, call_site where) noexcept : pool_(pool), where_(where) {}
    T* noted(T* object) const noexcept {
      if (object != nullptr) pool_.blocks_.note_site(const_cast<const std::remove_cv_t<T>*>(object), where_);
      return object;
    }

    object_pool& pool_;
    call_site where_;
  };

  /// As of a basic_pool.
  template <class... Given>
  constexpr explicit(sizeof...(Given) == 1) object_pool(const Given&... given) noexcept(
      detail::copies_cannot_throw<Given...>)
      : blocks_(given...) {}
  object_pool(const object_pool&) = TARN_DELETED("tarn: [C14] a pool can't be copied or moved; take a reference");
  object_pool& operator=(const object_pool&) = TARN_DELETED("tarn: [C14] a pool can't be copied or moved; take a reference");
  ~object_pool() {
    if constexpr (!std::is_trivially_destructible_v<T>) (clear)();
    else if constexpr (detail::inspector::can_refuse<pool_type>()) forget();
  }

#if TARN_EXCEPTIONS
  /// Constructs an object, and returns it.
  /// Throws: std::bad_alloc if there is no block, and what the constructor throws; the pool is then unchanged.
  template <class... Args>
  [[nodiscard]] T* construct(Args&&... args) {
    return construct_in(blocks_.allocate(), std::forward<Args>(args)...);
  }
#endif
  /// Like construct(), but returns null if there is no block, and never waits for one. Throws: what the constructor throws.
  template <class... Args>
  [[nodiscard]] T* try_construct(Args&&... args) {
    void* const block = blocks_.try_allocate();
    return block == nullptr ? nullptr : construct_in(block, std::forward<Args>(args)...);
  }
  /// Like construct(), but waits as a pool's allocate_within(). Returns null when the time is over.
  /// Throws: what the constructor throws.
  template <detail::time_span Duration, class... Args>
  [[nodiscard]] T* construct_within(const Duration& timeout, Args&&... args)
    requires(waits)
  {
    void* const block = blocks_.allocate_within(timeout);
    return block == nullptr ? nullptr : construct_in(block, std::forward<Args>(args)...);
  }
  /// Returns a proxy that constructs objects and, with checked_with<sites>, records the calling line for reports:
  /// `orders.here().construct(1, 9.5)`.
  [[nodiscard]] maker here(call_site where = call_site::current()) noexcept { return maker(*this, where); }

  /// Destroys an object; null: does nothing. Precondition: this pool constructed it, and it was not destroyed since.
  void destroy(T* object) noexcept {
    if (endings_.end(blocks_, object)) blocks_.deallocate(const_cast<std::remove_cv_t<T>*>(object));
  }

  // ---- bursts --------------------------------------------------------------------------------------------------------------
#if TARN_EXCEPTIONS
  /// Constructs an object for each place of `out`, all from the same arguments.
  /// Throws: std::bad_alloc if there are fewer blocks, and what a constructor throws, after destroying the objects already
  /// constructed, the newest first; the content of `out` is unspecified.
  /// Precondition: no constructor or destructor walks through the pool.
  template <class... Args>
  void construct_n(span<T*> out, const Args&... args) {
    burst<detail::waits_as_usual>(blocks_, out, {}).fill_all(
        [&](void* block) { return detail::make_in<T>(block, args...); });
  }
#endif
  /// Like construct_n(), for as many places from the start as there are blocks. Returns how many. Never waits.
  /// Throws: what a constructor throws.
  template <class... Args>
  [[nodiscard]] std::size_t try_construct_n(span<T*> out, const Args&... args) {
    return burst<detail::limit_of_try>(blocks_, out, {}).fill_some(
        [&](void* block) { return detail::make_in<T>(block, args...); });
  }
  /// The same, but waits for at most `timeout`. Returns how many. Throws: what a constructor throws.
  template <detail::time_span Duration, class... Args>
  [[nodiscard]] std::size_t construct_n_within(const Duration& timeout, span<T*> out, const Args&... args)
    requires(waits)
  {
    const detail::waits_until end{detail::time_after(detail::nanoseconds_of(timeout))};
    return burst<detail::waits_until>(blocks_, out, end).fill_some(
        [&](void* block) { return detail::make_in<T>(block, args...); });
  }
  /// Destroys many objects, in their order; ignores null.
  /// Precondition: as for destroy(), none twice; no destructor walks through the pool.
  void destroy_n(span<T* const> objects) noexcept { detail::end_all(blocks_, endings_, objects); }

  // ---- handles: where the checking policy counts the uses of a block (checked, hardened_with<generations>) -----------------

  /// Returns a handle to an object of this pool; an empty one for anything else.
  [[nodiscard]] handle<T> handle_to(T* object) noexcept
    requires(has_generations)
  {
    const std::uint64_t generation = detail::inspector::generation_of(blocks_, object);
    return generation == 0 ? handle<T>() : handle<T>(object, generation);
  }
  /// Returns the object, or null if it was destroyed, or the handle is empty or another pool's.
  [[nodiscard]] T* get(handle<T> which) noexcept
    requires(has_generations)
  {
    if (which.generation_ == 0) return nullptr;
    return detail::inspector::generation_of(blocks_, which.place_) == which.generation_ ? which.place_ : nullptr;
  }
  /// Destroys the object. Returns false, and does nothing, if get() returns null.
  bool destroy(handle<T> which) noexcept
    requires(has_generations)
  {
    T* const object = get(which);
    destroy(object);
    return object != nullptr;
  }

#if TARN_EXCEPTIONS
  /// Constructs an object. Returns its owner, which the pool must outlive. Throws: as construct().
  template <class... Args>
  [[nodiscard]] unique_ptr make_unique(Args&&... args) {
    return unique_ptr(construct(std::forward<Args>(args)...), deleter(this));
  }
  /// Constructs an object. Returns an owner; the pool must outlive the last one. The counts are in a static pool of
  /// stl_allocator.
  /// Throws: as construct().
  template <class... Args>
  [[nodiscard]] std::shared_ptr<T> allocate_shared(Args&&... args) {
    return std::shared_ptr<T>(construct(std::forward<Args>(args)...), deleter(this), stl_allocator<T>());
  }
#endif

  // ---- walks ---------------------------------------------------------------------------------------------------------------
  // begin(), erase() and parts() are templates so that an explicit instantiation of a pool without iterators has no error.

  /// Calls f(object) for every object, by ascending address, but those on guarded pages last. f may destroy any object,
  /// construct others, which may be visited, and walk again. It must call neither clear() nor release(); during this, trim()
  /// does nothing. In a constructor or destructor it also visits that object.
  /// Precondition for all walks, clear() and release(): no other thread, including a maintenance_thread, uses the pool.
  /// Throws: what f throws. O(objects + blocks / 64), and for each block that became free since the walk before, O(log chunks).
  template <class F>
  void for_each(F f) {
    static_cast<void>(walk([&f](T& object) {
      f(object);
      return true;
    }));
  }
  /// The same while f(object) returns true. Returns whether it always did. Throws: what f throws.
  template <class F>
  bool for_each_while(F f) {
    return walk([&f](T& object) { return static_cast<bool>(f(object)); });
  }
  /// Returns how many objects there are. O(chunks), and for each block that became free since the walk before, O(log chunks);
  /// over an array, O(blocks).
  [[nodiscard]] std::size_t count() noexcept { return detail::count_blocks(state()); }

  /// Returns a forward iterator to the object at the lowest address, valid as long as its object exists. The pool is a
  /// std::ranges::forward_range. O(chunks + blocks / 64) from the first to the last, as for_each().
  template <int = 0>
  [[nodiscard]] TARN_STEP iterator begin() noexcept {
    if constexpr (has_iterators) return iterator::first(state());
    else return iterators::refuse();
  }
  /// Returns the iterator after the last object.
  [[nodiscard]] static constexpr iterator end() noexcept { return {}; }
  /// Destroys the object at `which`, which isn't end(). Returns the next one. O(log chunks).
  template <int = 0>
  iterator (erase)(iterator which) noexcept {
    if constexpr (has_iterators) {
      T* const object = std::addressof(*which);
      destroy(object);
      if constexpr (!iterators::traits::retention::traits.returns_chunks) return ++which;
      return iterator::behind(state(), const_cast<const std::remove_cv_t<T>*>(object));
    } else {
      return iterators::refuse();
    }
  }
  /// Divides the objects, which is as complex as count(). Returns a range of `n` ranges of equally many objects, or one more,
  /// with size() and []. Threads may walk through different ones at the same time if no object is constructed or destroyed.
  /// Precondition: n isn't 0.
  template <int = 0>
  [[nodiscard]] auto parts(std::size_t n) noexcept {
    if constexpr (has_iterators) return detail::object_parts<T, typename iterators::state>(state(), n);
    else return iterators::refuse();
  }

  /// Destroys every object, each once, although destructors may destroy others. Objects that destructors construct may be left.
  /// Precondition: no other thread uses the pool; no destructor calls for_each() or release() of it. O(objects + free blocks);
  /// with no destructor, and no policy that must be notified of each, O(chunks).
  void (clear)() noexcept {
    if (endings_.running()) return;  // a destructor called it
    if constexpr (std::is_trivially_destructible_v<T>)
      if (detail::forget_blocks_in_use(state())) return;
    ending(*this).run();
  }
  /// Returns all memory. No destructor runs: call clear() first if objects need theirs.
  /// Precondition: no other thread uses the pool.
  void release() noexcept
    requires(may_return_chunks)
  {
    blocks_.release();
  }

  /// Returns the pool of the blocks: reserve(), trim(), capacity(), owns(), statistics().
  auto& blocks() noexcept { return blocks_; }
  const auto& blocks() const noexcept { return blocks_; }

 private:
  template <class...>
  friend class multipool;
  using iterators = detail::iterators_of<T, pool_type>;
  template <class Limit>
  using burst = detail::burst<T, pool_type, Limit>;
  static constexpr bool has_destructors = !std::is_trivially_destructible_v<T>;
  auto& state() noexcept { return detail::inspector::state_of(blocks_); }

  using endings = detail::endings<T, pool_type>;
  struct ending : endings::all {
    explicit ending(object_pool& pool) noexcept : endings::all(pool.endings_, pool.blocks_) {}
  };

  template <class Visit>
  bool walk(Visit visit) {
    typename endings::walk active(endings_, blocks_);
    return detail::visit_blocks<typename detail::size_of_object<T>::canonical>(
        state(), active, [&](void* block) { return visit(*std::launder(static_cast<T*>(block))); });
  }
  template <class... Args>
  T* construct_in(void* block, Args&&... args) {
    if constexpr (std::is_nothrow_constructible_v<T, Args...>) {
      return detail::make_in<T>(block, std::forward<Args>(args)...);
    } else {
      detail::unkept_block unkept(blocks_, block);
      T* const object = detail::make_in<T>(block, std::forward<Args>(args)...);
      unkept.keep();
      return object;
    }
  }

  /// What is left is no leak, whatever its type.
  void forget() noexcept {
    if constexpr (may_return_chunks) blocks_.release();
    else (clear)();
  }

  endings endings_;
  detail::object_blocks<pool_type> blocks_;
};

template <class T, class... Policies>
  requires(!std::is_void_v<typename detail::rejection_of_objects<T, Policies...>::type>)
class object_pool<T, Policies...>
    : public detail::rejected_objects<T, typename detail::rejection_of_objects<T, Policies...>::type> {
 public:
  using deleter = object_deleter<T, Policies...>;
  using unique_ptr = object_ptr<T, Policies...>;

  template <class... Anything>
  constexpr explicit(false) object_pool(const Anything&...) noexcept {}

  template <class... Anything>
  auto make_unique(Anything&&...) noexcept {
    if constexpr (detail::is_one_object<T>) return unique_ptr();
    else return static_cast<std::decay_t<T>*>(nullptr);
  }
  template <class... Anything>
  std::shared_ptr<std::decay_t<T>> allocate_shared(Anything&&...) noexcept {
    return {};
  }
};

}  // namespace tarn

#endif  // TARN_ALLOCATOR_OBJECT_POOL_H_

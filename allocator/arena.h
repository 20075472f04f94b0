// An arena: blocks of any size, allocated one after the other and freed all at once.
//
//   tarn::arena<> request;
//   auto* order = request.create<Order>(7);
//   void* text = request.allocate(100, 1);
//   request.reset();                      // frees everything; the chunks stay for the next request
//
// mark() and rewind(), or a scope, free what was allocated after the mark. arena<Policies...> takes policies of locking, growth
// and store (in bytes), exhaustion, checking, statistics and name, in any order. Those that are left out are the default's.
#ifndef TARN_ALLOCATOR_ARENA_H_
#define TARN_ALLOCATOR_ARENA_H_

#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/arena/arena_body.h"
#include "tarn/allocator/detail/arena/arena_rules.h"
#include "tarn/allocator/detail/compose/select.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/name.h"
#include "tarn/policies/platform/config.h"

namespace tarn {

/// An arena with one policy for each axis, in the order of the axes:
///
///   allocate, try_allocate, also with a known size; deallocate, grow_last    blocks
///   create, make_span                                                        objects
///   mark, rewind, scope, reset, release, trim                                going back
///   owns, in_use, capacity, statistics, store                                questions
///
/// Its destructor destroys all objects, the newest first, and returns every chunk.
template <class Locking, class Growth, class Store, class Exhaustion, class Checking, class Statistics, class Name = unnamed>
class basic_arena : public detail::arena_body_of<false, Locking, Growth, Store, Exhaustion, Checking, Statistics, Name> {
  using body = detail::arena_body_of<false, Locking, Growth, Store, Exhaustion, Checking, Statistics, Name>;
  using policies = detail::policy_types<Locking, Growth, Store, Exhaustion, Checking, Statistics, Name>;

 public:
  /// As of a basic_pool.
  template <class... Given>
  constexpr explicit(sizeof...(Given) == 1) basic_arena(const Given&... given) noexcept(detail::copies_cannot_throw<Given...>)
      : body(detail::with_listing<Name>(detail::accept_values<policies>(given...))) {
    if (!std::is_constant_evaluated()) this->open();
  }
  basic_arena(const basic_arena&) = TARN_DELETED("tarn: [V13] an arena can't be copied or moved; take a reference");
  basic_arena& operator=(const basic_arena&) = TARN_DELETED("tarn: [V13] an arena can't be copied or moved; take a reference");
  ~basic_arena() { this->close(); }
};

/// The arena of these policies, in any order, and of the others' defaults.
template <class... Policies>
using arena = typename decltype(detail::compose_arena<Policies...>())::type;

/// The process-wide arena of a tag: constant-initialised, usable before main and after static destruction, and never destroyed.
template <class Tag, class... Policies>
class static_arena {
  using its = detail::static_arena_body<Tag, arena<Policies...>>;

 public:
  /// The arena's members without a destructor.
  using body = typename its::type;

  /// Returns the one arena of the tag.
  static body& instance() noexcept { return body_; }

 private:
  static inline constinit body body_{its::values()};
};

/// The standard containers' allocator over an arena. Containers must be destroyed before the arena frees their blocks; if they
/// are moved, swapped or copy-assigned, each keeps its arena. Two are equal if they have the same arena.
/// \tparam Arena  an arena<...>, or a static_arena's body
template <class T, class Arena = arena<>>
class arena_allocator {
 public:
  /// As the standard requires of an allocator.
  using value_type = T;

  /// \param arena  must outlive the container
  arena_allocator(Arena& arena) noexcept : arena_(detail::pointer_to(arena)) {}
  template <class U>
  arena_allocator(const arena_allocator<U, Arena>& other) noexcept : arena_(detail::pointer_to(other.arena())) {}
  template <class U>
  struct rebind {
    using other = arena_allocator<U, Arena>;  // the same, for objects of type U
  };

  /// Returns room for n objects. Throws: std::bad_alloc.
  [[nodiscard]] T* allocate(std::size_t n) {
    if (n == 1) return static_cast<T*>(arena_->template allocate<sizeof(T), alignof(T)>());
    return static_cast<T*>(arena_->allocate(detail::multiply(n, sizeof(T)), alignof(T)));
  }
  void deallocate(T* objects, std::size_t n) noexcept { arena_->deallocate(objects, n * sizeof(T)); }
  Arena& arena() const noexcept { return *arena_; }

  /// Whether they have the same arena.
  template <class U>
  bool operator==(const arena_allocator<U, Arena>& other) const noexcept {
    return arena_ == detail::pointer_to(other.arena());
  }

 private:
  Arena* arena_;
};

}  // namespace tarn

#endif  // TARN_ALLOCATOR_ARENA_H_

// Class-level operator new and delete over a static pool of the class:
//
//   class Node {
//     ...
//     DECLARE_MEMORY_POOL(Node)
//   };
//   Node* n = new Node;      // from Node's pool
//   delete n;                // back into it
//
//   DECLARE_MEMORY_POOL(Class)                     the class's own pool, for any thread; throws std::bad_alloc
//   DECLARE_MEMORY_POOL__NOTHROW(Class)            operator new is noexcept: without memory it returns null, and no constructor
//                                                  runs
//   DECLARE_MEMORY_POOL_GROUPED(Class, Group)      the pool belongs to a group that one thread owns, so it has no lock
//   DECLARE_MEMORY_POOL_GROUPED__NOTHROW(Class, Group)
//                                                  the same, where operator new is noexcept
//   DECLARE_MEMORY_POOL_WITH(Class, policies...)   any composition; the size is the class's
//   DECLARE_MEMORY_POOL_WITH__NOTHROW(Class, policies...)
//                                                  the same, where operator new is noexcept
//   PREPARE_MEMORY_POOL(Class, blocks)             reserves room for that many objects; throws std::bad_alloc. A statement
//
// Each leaves access as `public:`, and may be followed by a semicolon. Class::memory_pool() is the pool. Only single objects of
// exactly that size use it. Arrays, and derived classes of another size or of a stricter alignment, use the global operators.
// Placement new is unchanged. Deleting through a base requires a virtual destructor, as always.
#ifndef TARN_ALLOCATOR_MEMORY_POOL_MACROS_H_
#define TARN_ALLOCATOR_MEMORY_POOL_MACROS_H_

#include <concepts>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>

#include "tarn/allocator/detail/compose/select.h"
#include "tarn/allocator/detail/construct.h"
#include "tarn/allocator/detail/pool/inspector.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/policies/locking.h"
#include "tarn/policies/platform/config.h"

namespace tarn::detail {

// What the macros check: whether the class is the one that contains them, and what the caller places in its own memory.

/// The promise of a coroutine, or a base that has some of a promise's members.
template <class Class>
concept promise_like = requires(Class& promise) { promise.get_return_object(); } ||
                       requires(Class& promise) { promise.initial_suspend(); } ||
                       requires(Class& promise) { promise.final_suspend(); } ||
                       requires(Class& promise) { promise.unhandled_exception(); } ||
                       requires(Class& promise) { promise.return_void(); };

/// The argument of placement new: anything that converts to void*, as in the language. A coroutine's promise has none, because
/// a coroutine passes its own arguments to the promise's operator new, and a pointer among them would be taken for the place.
template <class Class>
class placement {
 public:
  template <class Place>
    requires(std::is_convertible_v<Place, void*> && !promise_like<Class>)
  placement(Place&& place) noexcept(std::is_nothrow_convertible_v<Place, void*>) : place_(static_cast<Place&&>(place)) {}
  void* get() const noexcept { return place_; }

 private:
  void* place_;
};

/// Instantiated where a macro is used: `Here` is an lvalue of that class, which isn't complete yet. A class derived from it, as
/// `struct node : pooled<node>`, isn't complete either, and is allowed. A complete class is a different one.
template <class Class, class Here>
struct owner_of_pool {
  static constexpr bool is_complete = requires { sizeof(Class); };
  static_assert(std::is_same_v<Class&, Here> || !is_complete,
                "tarn: [N2] DECLARE_MEMORY_POOL was given a different class from the one that contains it, which would have no "
                "pool; give it the class that contains it");
  using type = void;
};

/// \tparam IsPlain  false if a DECLARE_MEMORY_POOL is used after a macro called new is defined
template <bool IsPlain>
struct macro_new_complaint {
  static_assert(IsPlain,
                "tarn: [N3] DECLARE_MEMORY_POOL was used where new is a macro, as debug heaps define it, so operator new can't "
                "be declared; move #define new after the class");
};

/// The operators behind the macros. Class is incomplete where this type is named, and complete where its members are used.
/// \tparam StaticPool  has instance(), a pool of blocks for a Class
template <class Class, class StaticPool>
struct operators_over {
  using owner = Class;
  using place = placement<Class>;
  using static_pool_type = StaticPool;

  static auto& pool() noexcept { return static_pool_type::instance(); }

  // Which of the two served a request must follow from the arguments of delete: the size, and the alignment if it exceeds the
  // default. `aligned` is that alignment, or nothing.
  static bool is_pooled(std::size_t bytes) noexcept { return bytes == sizeof(Class); }
  static bool is_pooled(std::size_t bytes, std::align_val_t alignment) noexcept {
    return bytes == sizeof(Class) && static_cast<std::size_t>(alignment) <= alignof(Class);
  }

  static void* allocate(std::size_t bytes, auto... aligned) {
    if (is_pooled(bytes, aligned...)) [[likely]] return detail::must_allocate(pool());
    return ::operator new(bytes, aligned...);
  }
  static void* try_allocate(std::size_t bytes, auto... aligned) noexcept {
    if (is_pooled(bytes, aligned...)) [[likely]] return allocate_or_null(pool());
    return ::operator new(bytes, aligned..., std::nothrow);
  }
  static void deallocate(void* block, std::size_t bytes, auto... aligned) noexcept {
    if (block == nullptr) return;
    if (is_pooled(bytes, aligned...)) [[likely]] return pool().deallocate(block);
    if (!inspector::is_misused(pool(), block, bytes)) ::operator delete(block, aligned...);
  }
  // Arrays come from the global operators; anything else is reported.
  static void* allocate_array(std::size_t bytes, auto... aligned) { return ::operator new[](bytes, aligned...); }
  static void* try_allocate_array(std::size_t bytes, auto... aligned) noexcept {
    return ::operator new[](bytes, aligned..., std::nothrow);
  }
  static void deallocate_array(void* block, auto... aligned) noexcept {
    if (!inspector::is_misused(pool(), block, 0)) ::operator delete[](block, aligned...);
  }
  // Called if a constructor throws in `new (std::nothrow)`. The size isn't passed, so the pool decides.
  static void deallocate_unsized(void* block) noexcept {
    if (block == nullptr) return;
    if (pool().owns(block)) return pool().deallocate(block);
    ::operator delete(block);
  }
  // For a class with an extended alignment, compilers look for this when a constructor throws, and delete then uses it as well.
  // No object of a final class is larger.
  static void deallocate_unsized(void* block, std::align_val_t alignment) noexcept {
    if (block == nullptr) return;
    if (static_cast<std::size_t>(alignment) <= alignof(Class) && (std::is_final_v<Class> || pool().owns(block)))
      return pool().deallocate(block);
    ::operator delete(block, alignment);
  }
};

template <class Class, class... Policies>
struct class_operators : operators_over<Class, static_pool<Class, by_product<size_of<Class>>, Policies...>> {};

/// \tparam IsPolicy  false if a macro was given a value where the first policy belongs
template <class Class, bool IsPolicy>
struct number_complaint : class_operators<Class> {
  static_assert(IsPolicy,
                "tarn: [N4] DECLARE_MEMORY_POOL was given a value after the class, but takes policies only; for a number of "
                "blocks, write PREPARE_MEMORY_POOL(Class, N), or the policy fixed_growth<N>");
};
/// Their result is the operators. Only functions can have types and values as their template arguments.
template <class Class, class... Policies>
class_operators<Class, Policies...> operators_of();
template <class Class, auto, class...>
number_complaint<Class, false> operators_of();

/// As above, for the macros of groups.
template <class Class, class Group>
using grouped_operators = class_operators<Class, grouped_locking<Group>>;

template <class Class>
concept has_own_pool = requires { requires std::same_as<Class, typename Class::memory_pool_operators::owner>; };

template <class Class>
void prepare_memory_pool([[maybe_unused]] std::size_t blocks) {
  constexpr bool has_pool = has_own_pool<Class>;
  static_assert(
      has_pool,
      "tarn: [N1] PREPARE_MEMORY_POOL was given a class without its own pool (a base class may have one); give it the base "
      "class, or write DECLARE_MEMORY_POOL into the class");
  if constexpr (has_pool) {
#if TARN_EXCEPTIONS
    Class::memory_pool().reserve(blocks);
#else
    if (!Class::memory_pool().try_reserve(blocks)) std::abort();
#endif
  }
}

}  // namespace tarn::detail

// The operators new and delete that have the arguments `...`, for objects and for arrays. SPECIFIER follows operator new, and
// ARRAY_SPECIFIER operator new[]; ALLOCATE and ALLOCATE_ARRAY are the members of class_operators that they call. The names of
// arguments are unique, so that they hide none.
#define TARN_PLACED_OPERATORS_(SPECIFIER, ALLOCATE, ARRAY_SPECIFIER, ALLOCATE_ARRAY, ...)                                      \
  static void* operator new(::std::size_t tarn_bytes_, __VA_ARGS__) SPECIFIER {                                                \
    return memory_pool_operators::ALLOCATE(tarn_bytes_);                                                                       \
  }                                                                                                                            \
  static void* operator new(::std::size_t tarn_bytes_, ::std::align_val_t tarn_alignment_, __VA_ARGS__) SPECIFIER {            \
    return memory_pool_operators::ALLOCATE(tarn_bytes_, tarn_alignment_);                                                      \
  }                                                                                                                            \
  static void operator delete(void* tarn_block_, __VA_ARGS__) noexcept {                                                       \
    memory_pool_operators::deallocate_unsized(tarn_block_);                                                                    \
  }                                                                                                                            \
  static void operator delete(void* tarn_block_, ::std::align_val_t tarn_alignment_, __VA_ARGS__) noexcept {                   \
    memory_pool_operators::deallocate_unsized(tarn_block_, tarn_alignment_);                                                   \
  }                                                                                                                            \
  static void* operator new[](::std::size_t tarn_bytes_, __VA_ARGS__) ARRAY_SPECIFIER {                                        \
    return memory_pool_operators::ALLOCATE_ARRAY(tarn_bytes_);                                                                 \
  }                                                                                                                            \
  static void* operator new[](::std::size_t tarn_bytes_, ::std::align_val_t tarn_alignment_, __VA_ARGS__) ARRAY_SPECIFIER {    \
    return memory_pool_operators::ALLOCATE_ARRAY(tarn_bytes_, tarn_alignment_);                                                \
  }                                                                                                                            \
  static void operator delete[](void* tarn_array_, __VA_ARGS__) noexcept {                                                     \
    memory_pool_operators::deallocate_array(tarn_array_);                                                                      \
  }                                                                                                                            \
  static void operator delete[](void* tarn_array_, ::std::align_val_t tarn_alignment_, __VA_ARGS__) noexcept {                 \
    memory_pool_operators::deallocate_array(tarn_array_, tarn_alignment_);                                                     \
  }

/// What all macros have in common. The rest is a class_operators<...>, whose arguments aren't split, because a class's name may
/// have commas. Debug heaps make the program call `new (__FILE__, __LINE__) T`, or `new (_NORMAL_BLOCK, __FILE__, __LINE__) T`,
/// through a macro called new; the block still comes from the pool. Two forms instead of a template, which a local class can't
/// have.
#define TARN_OPERATORS_plain_(SPECIFIER, ALLOCATE, ...)                                                                        \
 public:                                                                                                                       \
  using memory_pool_operators [[maybe_unused]] = __VA_ARGS__;                                                                  \
  static void* operator new(::std::size_t tarn_bytes_) SPECIFIER { return memory_pool_operators::ALLOCATE(tarn_bytes_); }      \
  static void* operator new(::std::size_t tarn_bytes_, ::std::align_val_t tarn_alignment_) SPECIFIER {                         \
    return memory_pool_operators::ALLOCATE(tarn_bytes_, tarn_alignment_);                                                      \
  }                                                                                                                            \
  static void operator delete(void* tarn_block_, ::std::size_t tarn_bytes_) noexcept {                                         \
    memory_pool_operators::deallocate(tarn_block_, tarn_bytes_);                                                               \
  }                                                                                                                            \
  static void operator delete(void* tarn_block_, ::std::size_t tarn_bytes_, ::std::align_val_t tarn_alignment_) noexcept {     \
    memory_pool_operators::deallocate(tarn_block_, tarn_bytes_, tarn_alignment_);                                              \
  }                                                                                                                            \
  static void operator delete(void* tarn_block_, ::std::align_val_t tarn_alignment_) noexcept {                                \
    memory_pool_operators::deallocate_unsized(tarn_block_, tarn_alignment_);                                                   \
  }                                                                                                                            \
  static void* operator new[](::std::size_t tarn_bytes_) { return memory_pool_operators::allocate_array(tarn_bytes_); }        \
  static void* operator new[](::std::size_t tarn_bytes_, ::std::align_val_t tarn_alignment_) {                                 \
    return memory_pool_operators::allocate_array(tarn_bytes_, tarn_alignment_);                                                \
  }                                                                                                                            \
  static void operator delete[](void* tarn_array_) noexcept { memory_pool_operators::deallocate_array(tarn_array_); }          \
  static void operator delete[](void* tarn_array_, ::std::align_val_t tarn_alignment_) noexcept {                              \
    memory_pool_operators::deallocate_array(tarn_array_, tarn_alignment_);                                                     \
  }                                                                                                                            \
                                                                                                                               \
  static void* operator new(::std::size_t, typename memory_pool_operators::place tarn_place_) noexcept {                       \
    return tarn_place_.get();                                                                                                  \
  }                                                                                                                            \
  static void operator delete(void*, typename memory_pool_operators::place) noexcept {}                                        \
  static void* operator new[](::std::size_t, typename memory_pool_operators::place tarn_place_) noexcept {                     \
    return tarn_place_.get();                                                                                                  \
  }                                                                                                                            \
  static void operator delete[](void*, typename memory_pool_operators::place) noexcept {}                                      \
                                                                                                                               \
  TARN_PLACED_OPERATORS_(noexcept, try_allocate, noexcept, try_allocate_array, const ::std::nothrow_t&)                        \
  TARN_PLACED_OPERATORS_(SPECIFIER, ALLOCATE, , allocate_array, const char*, int)                                              \
  TARN_PLACED_OPERATORS_(SPECIFIER, ALLOCATE, , allocate_array, int, const char*, int)                                         \
  static auto& memory_pool() noexcept { return memory_pool_operators::pool(); }

// If `new` is already such a macro, operators can't be declared. TARN_NEW_IS_new is a macro only before parentheses, so that it
// distinguishes `new` from `new(__FILE__, __LINE__)`.
#define TARN_SECOND_(...) TARN_SECOND_OF_(__VA_ARGS__)
#define TARN_SECOND_OF_(first, second, ...) second
#define TARN_JOIN_(a, b) TARN_JOINED_(a, b)
#define TARN_JOINED_(a, b) a##b
#define TARN_NEW_IS_new(...) ~, macro_
#define TARN_NEW_ TARN_SECOND_(TARN_JOIN_(TARN_NEW_IS_, new), plain_, ~)
#define TARN_IS_plain_ true
#define TARN_IS_macro_ false
#define TARN_OPERATORS_macro_(...)

// Wrong uses are rejected here, because compilers show each macro on the way to the error.
#define TARN_MEMORY_POOL_OPERATORS(SPECIFIER, ALLOCATE, ...)                                           \
  static_assert(sizeof(::tarn::detail::macro_new_complaint<TARN_JOIN_(TARN_IS_, TARN_NEW_)>) != 0);    \
  auto tarn_owner_of_pool_()                                                                           \
      -> typename ::tarn::detail::owner_of_pool<typename __VA_ARGS__::owner, decltype(*this)>::type;   \
  TARN_JOIN_(TARN_OPERATORS_, TARN_NEW_)(SPECIFIER, ALLOCATE, __VA_ARGS__)

#define DECLARE_MEMORY_POOL_WITH(...) \
  TARN_MEMORY_POOL_OPERATORS(, allocate, decltype(::tarn::detail::operators_of<__VA_ARGS__>()))
#define DECLARE_MEMORY_POOL_WITH__NOTHROW(...) \
  TARN_MEMORY_POOL_OPERATORS(noexcept, try_allocate, decltype(::tarn::detail::operators_of<__VA_ARGS__>()))

#define DECLARE_MEMORY_POOL(...) DECLARE_MEMORY_POOL_WITH(__VA_ARGS__, ::tarn::shared_locking)
#define DECLARE_MEMORY_POOL__NOTHROW(...) DECLARE_MEMORY_POOL_WITH__NOTHROW(__VA_ARGS__, ::tarn::shared_locking)

#define DECLARE_MEMORY_POOL_GROUPED(...) \
  TARN_MEMORY_POOL_OPERATORS(, allocate, ::tarn::detail::grouped_operators<__VA_ARGS__>)
#define DECLARE_MEMORY_POOL_GROUPED__NOTHROW(...) \
  TARN_MEMORY_POOL_OPERATORS(noexcept, try_allocate, ::tarn::detail::grouped_operators<__VA_ARGS__>)

/// The last argument is the number of blocks. The others are the class, whose name may have up to four commas.
#define PREPARE_MEMORY_POOL(...)                                                                                   \
  TARN_SEVENTH_(__VA_ARGS__, TARN_PREPARE_5_, TARN_PREPARE_4_, TARN_PREPARE_3_, TARN_PREPARE_2_, TARN_PREPARE_1_, ) \
  (__VA_ARGS__)
#define TARN_SEVENTH_(a, b, c, d, e, f, seventh, ...) seventh
#define TARN_PREPARE_1_(a, blocks) ::tarn::detail::prepare_memory_pool<a>(blocks)
#define TARN_PREPARE_2_(a, b, blocks) ::tarn::detail::prepare_memory_pool<a, b>(blocks)
#define TARN_PREPARE_3_(a, b, c, blocks) ::tarn::detail::prepare_memory_pool<a, b, c>(blocks)
#define TARN_PREPARE_4_(a, b, c, d, blocks) ::tarn::detail::prepare_memory_pool<a, b, c, d>(blocks)
#define TARN_PREPARE_5_(a, b, c, d, e, blocks) ::tarn::detail::prepare_memory_pool<a, b, c, d, e>(blocks)

#endif  // TARN_ALLOCATOR_MEMORY_POOL_MACROS_H_

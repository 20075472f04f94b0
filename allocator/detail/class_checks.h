// What the macros for class-level operator new ask about a class: whether it is the one that they stand in, and what is placed
// in memory that the caller has.
#ifndef TARN_ALLOCATOR_DETAIL_CLASS_CHECKS_H_
#define TARN_ALLOCATOR_DETAIL_CLASS_CHECKS_H_

#include <type_traits>

namespace tarn::detail {

/// The promise of a coroutine, or a base that has some of a promise's members.
template <class Class>
concept promise_like = requires(Class& promise) { promise.get_return_object(); } ||
                       requires(Class& promise) { promise.initial_suspend(); } ||
                       requires(Class& promise) { promise.final_suspend(); } ||
                       requires(Class& promise) { promise.unhandled_exception(); } ||
                       requires(Class& promise) { promise.return_void(); };

/// The argument of placement new: what converts to void*, as in the language. In a coroutine's promise it is nothing: a
/// coroutine passes its own arguments to the promise's operator new, and a pointer among them would be taken for the place.
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

/// Instantiated where a macro stands: `Here` is an lvalue of that class, which isn't complete yet. Nor is one that is derived
/// from it, as `struct node : pooled<node>`; it may be named. A class that is complete is another.
template <class Class, class Here>
struct owner_of_pool {
  static constexpr bool is_complete = requires { sizeof(Class); };
  static_assert(std::is_same_v<Class&, Here> || !is_complete,
                "tarn: [N2] DECLARE_MEMORY_POOL was given another class than the one that it stands in, which would have no "
                "pool; give it the class that it stands in");
  using type = void;
};

/// Named where a DECLARE_MEMORY_POOL stands behind a macro called new.
template <class... Nothing>
struct macro_new_complaint {
  static_assert(sizeof...(Nothing) != 0,
                "tarn: [N3] DECLARE_MEMORY_POOL stands where new is a macro, as debug heaps define it, so that no operator can "
                "be declared; write #define new behind the class");
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_CLASS_CHECKS_H_

// A pool of blocks of many sizes: each request goes to the pool of its size class, and a larger request to the store.
//
//   tarn::size_class_pool<> blocks;
//   void* block = blocks.allocate(100);
//   blocks.deallocate(block, 100);
//
// It takes the policies of pool<...> in any order, with classes instead of a size: geometric_classes<> by default.
// With a bounded store, which has one region, all classes share it in granules of 16 KiB: static_array_store<Blocks> means that
// many granules.
#ifndef TARN_ALLOCATOR_SIZE_CLASS_POOL_H_
#define TARN_ALLOCATOR_SIZE_CLASS_POOL_H_

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/classes/class_stores.h"
#include "tarn/allocator/detail/classes/large_blocks.h"
#include "tarn/allocator/detail/classes/size_class_body.h"
#include "tarn/allocator/detail/compose/select.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/size.h"

namespace tarn::detail {

// ---- the classes, and the pool of each, from the policies ----------------------------------------------------------------

inline constexpr std::size_t granule_bytes = 16 * 1024;

template <class P>
inline constexpr bool brings_bounded_store = bounded_store<P>;
template <class P>
  requires policy_on<P, axis::exhaustion>
inline constexpr bool brings_bounded_store<P> = requires { requires P::traits.store_is_bounded; };

/// The classes where none are named. Over a bounded store, they share few granules of 16 KiB.
template <class... Ps>
using default_classes =
    std::conditional_t<(... || brings_bounded_store<Ps>), geometric_classes<16, 4096>, geometric_classes<>>;

enum class class_verdict { good, one_size, two_sizes, wrong_classes, sampled };

template <class... Ps>
constexpr class_verdict judge_classes() noexcept {
  if constexpr (count_on<axis::size, Ps...> > 1) return class_verdict::two_sizes;
  else if constexpr (((policy_on<Ps, axis::size> && !size_class_policy<Ps>) || ...)) return class_verdict::one_size;
  else if constexpr (!((!policy_on<Ps, axis::size> || arguments_hold<Ps>) && ...)) return class_verdict::wrong_classes;
  else return class_verdict::good;
}

template <class_verdict Verdict>
struct class_complaint {
  static_assert(differs(Verdict, class_verdict::two_sizes), "tarn: [C2] two policies were given for the axis size; keep one");
  static_assert(
      differs(Verdict, class_verdict::one_size),
      "tarn: [C11] a policy of one block size was given to a pool of many sizes; write geometric_classes<>, "
      "listed_classes<...> or no size policy, or use pool<...>");
  static_assert(
      differs(Verdict, class_verdict::sampled),
      "tarn: [C15] sampled_guard_pages was combined with blocks that are freed by address alone (xallocator, or a bounded "
      "store), but the address of a sampled block doesn't identify its size class; use hardened, or size_class_pool over "
      "heap_store");
};

/// The policies without those of the size axis.
template <class Kept, class... Ps>
struct sizeless;
template <class... Kept>
struct sizeless<policy_types<Kept...>> : std::type_identity<policy_types<Kept...>> {};
template <class... Kept, class P, class... Ps>
struct sizeless<policy_types<Kept...>, P, Ps...>
    : sizeless<std::conditional_t<policy_on<P, axis::size>, policy_types<Kept...>, policy_types<Kept..., P>>, Ps...> {};

/// \tparam Granule  bytes of a granule if chunks are tagged, as for malloc's functions; 0: chunks are tagged only if a store is
///                  bounded, so that all classes share it
template <std::size_t Granule, class Store, class Exhaustion>
inline constexpr bool is_tagged = Granule != 0 || Store::traits.bounded || Exhaustion::traits.store_is_bounded;

/// \tparam Nine     as for basic_pool, with dynamic_size as the size
template <class Classes, std::size_t Granule, class Nine>
struct class_composition;
template <class Classes, std::size_t Granule, class Size, class Locking, class Growth, class Store, class Reuse,
          class Retention, class Exhaustion, class Checking, class Statistics, class Name>
struct class_composition<Classes, Granule,
                         basic_pool<Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics, Name>> {
  static constexpr bool for_malloc = Granule != 0;
  static constexpr bool tagged = is_tagged<Granule, Store, Exhaustion>;
  static constexpr bool has_array = detail::has_array<Store, Exhaustion>;

  template <bool IsStatic>
  using identity_of_granules =
      std::conditional_t<!IsStatic, void,
                         std::conditional_t<static_has_values<Locking, Checking, Name>, part_of_static, some_static_pool>>;

  /// \tparam IsStatic  without an end. It makes a difference where blocks are an array
  template <bool IsStatic>
  struct parts {
    using locking = std::conditional_t<has_array && !IsStatic, locking_of_array<Locking>, Locking>;
    template <bool Tagged>
    static constexpr auto chunks_of() noexcept {
      if constexpr (!Tagged) return std::type_identity<direct_chunks<Store, Exhaustion, locking>>{};
      else
        return std::type_identity<tagged_chunks<Store, Exhaustion, locking, Growth, for_malloc ? Granule : granule_bytes,
                                                Checking::traits.refuses, identity_of_granules<IsStatic>>>{};
    }
    using chunks = typename decltype(chunks_of<tagged>())::type;
    using growth = std::conditional_t<tagged, whole_region, Growth>;
    using kept = kept_policies<Exhaustion, chunks, for_malloc, Checking, Locking, growth, Reuse, Retention, Statistics, Name>;
    /// A policy that is notified of each block is also notified of those that reset() frees, which a walk finds.
    static constexpr bool is_walked = hears_each_free<Retention, typename kept::exhaustion, Checking, Statistics>;
    using size = std::conditional_t<is_walked, walked_dynamic_size, dynamic_size>;
    using class_pool = basic_pool<size, Locking, growth, store_of_owner<chunks>, Reuse, Retention,
                                  typename kept::exhaustion, Checking, Statistics, name_in_classes<Name>>;
    template <class Chunks>
    static constexpr auto classes_in() noexcept {
      if constexpr (!Chunks::tagged) return std::type_identity<Classes>{};
      else if constexpr (Classes::largest <= Chunks::room) return std::type_identity<Classes>{};
      else return std::type_identity<classes_up_to<Classes, Chunks::room>>{};  // a larger block is a large one
    }
    using body = size_class_body<typename decltype(classes_in<chunks>())::type, class_pool, chunks, locking, kept>;
  };
  using body = typename parts<false>::body;
  using static_body = typename parts<has_array>::body;
  using values = policy_types<Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics, Name>;
};

/// What is left of a refused composition.
template <class Rejection>
struct rejected_body;
template <class... Complaints>
struct rejected_body<rejected<Complaints...>> : rejected<> {
  static_assert(((sizeof(Complaints) != 0) && ...));
  using classes = geometric_classes<>;
  constexpr explicit(false) rejected_body(const auto&...) noexcept {}
  static std::size_t usable_size(const void*) noexcept { return 0; }
  static void* allocate_or_null(std::size_t, std::size_t = 1) noexcept { return nullptr; }
  static void deallocate_sized(void*, std::size_t, std::size_t) noexcept {}
  static constexpr std::size_t tabled_bytes = 0, tabled_alignment = 1;
  static void* hit_tabled(std::size_t) noexcept { return nullptr; }
  static void deallocate_tabled(void*, std::size_t) noexcept {}
  void each_pool(auto) noexcept {}
  static large_counts large() noexcept { return {}; }
  static void reset() noexcept {}
  static void keep_no_large() noexcept {}
  static constexpr std::size_t class_size(std::size_t, std::size_t = 1) noexcept { return 0; }
  static void reserve(std::size_t, std::size_t, std::size_t = 1) noexcept {}
  static bool try_reserve(std::size_t, std::size_t, std::size_t = 1) noexcept { return false; }
  void end() noexcept {}
};
template <class Rejection>
struct rejected_classes {
  using rejection = Rejection;
  using body = rejected_body<Rejection>;
  using static_body = body;
  using values = policy_types<>;
};

/// Whether the owner can call the stores. A bounded one is the granules' own, which ask it themselves.
template <class Store>
constexpr bool store_serves_owner() noexcept {
  if constexpr (Store::traits.bounded) return true;
  else return serving_store<Store, owner_traits>;
}
template <class Exhaustion>
constexpr bool second_serves_owner() noexcept {
  if constexpr (!has_endless_second<Exhaustion>) return true;
  else return second_store_holds<Exhaustion, owner_traits>;
}

/// Policies as classes, or what is left of them, with their one error. Called by its qualified name: the argument would have
/// the pool instantiated.
template <class Classes, std::size_t Granule, class Size, class Locking, class Growth, class Store, class Reuse,
          class Retention, class Exhaustion, class Checking, class Statistics, class Name>
constexpr auto compose_classes(
    std::type_identity<basic_pool<Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics, Name>>
        nine) noexcept {
  if constexpr (!shapes_hold<Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics, Name>) {
    return std::type_identity<rejected_classes<
        rejected_shape<Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics, Name>>>{};
  } else if constexpr (Checking::traits.samples && is_tagged<Granule, Store, Exhaustion>) {
    constexpr class_verdict verdict = Checking::traits.samples ? class_verdict::sampled : class_verdict::good;
    return std::type_identity<rejected_classes<rejected<class_complaint<verdict>>>>{};
  } else if constexpr (!store_serves_owner<Store>()) {
    return std::type_identity<rejected_classes<rejected<store_complaint<Store, owner_traits>>>>{};
  } else if constexpr (!second_serves_owner<Exhaustion>()) {
    return std::type_identity<rejected_classes<rejected<typename second_store_complaint<Exhaustion, owner_traits>::type>>>{};
  } else {
    using chosen = class_composition<Classes, Granule, typename decltype(nine)::type>;
    using class_pool = typename chosen::template parts<false>::class_pool;
    using refused = typename rejection_of<class_pool>::type;  // by a rule
    return std::type_identity<std::conditional_t<is_rejected<class_pool>, rejected_classes<refused>, chosen>>{};
  }
}

template <class Classes, std::size_t Granule, class... Complaints>
constexpr auto compose_classes(std::type_identity<rejected<Complaints...>>) noexcept {
  return std::type_identity<rejected_classes<rejected<Complaints...>>>{};
}

template <class DefaultClasses, std::size_t Granule, class... Ps>
constexpr auto select_classes() noexcept {
  constexpr class_verdict verdict = judge_classes<Ps...>();
  if constexpr (verdict == class_verdict::good) {
    return []<class... Rest>(policy_types<Rest...>) {
      using classes = typename first_of<if_on<axis::size, Ps>..., DefaultClasses>::type;
      using nine = typename decltype(compose<dynamic_size, Rest...>())::type;
      return detail::compose_classes<classes, Granule>(std::type_identity<nine>{});
    }(typename sizeless<policy_types<>, Ps...>::type{});
  } else if constexpr (verdict == class_verdict::wrong_classes) {
    using classes = typename first_of<if_on<axis::size, Ps>...>::type;
    return std::type_identity<rejected_classes<rejected<typename classes::complaint>>>{};
  } else {
    return std::type_identity<rejected_classes<rejected<class_complaint<verdict>>>>{};
  }
}

template <class... Ps>
using class_selection = typename decltype(select_classes<default_classes<Ps...>, 0, Ps...>())::type;
template <class... Ps>
using class_body_of = typename class_selection<Ps...>::body;

// ---- the process-wide pool of many sizes that belongs to a tag: constant-initialised, never destroyed --------------------

template <class Selection, class... Policies>
constexpr static_fitness judge_static_classes(policy_types<Policies...>) noexcept {
  if constexpr (!(std::default_initializable<Policies> && ...)) return static_fitness::needs_value;
  else if constexpr ((ends_at_exit<Policies> || ...) || !std::is_trivially_destructible_v<typename Selection::static_body>)
    return static_fitness::has_destructor;
  else if constexpr (!constant_when_new<typename Selection::static_body>) return static_fitness::no_constant;
  else return static_fitness::good;
}

template <std::size_t Granule, class... Policies>
constexpr auto choose_static_classes() noexcept {
  using chosen = typename decltype(select_classes<default_classes<Policies...>, Granule, Policies...>())::type;
  if constexpr (requires { typename chosen::rejection; }) return std::type_identity<typename chosen::body>{};
  else if constexpr (constexpr static_fitness verdict = detail::judge_static_classes<chosen>(typename chosen::values{});
                     verdict == static_fitness::good)
    return std::type_identity<typename chosen::static_body>{};
  else return std::type_identity<rejected_body<rejected<static_complaint<verdict>>>>{};
}

/// The place of the array, if there is one.
template <class Tag, class Classes>
struct values_of_static_classes : values_of_tag<Tag> {
  template <class Array>
  static constexpr Array* array_of() noexcept {
    return &static_array<Classes, Array>::its;
  }
};

/// \tparam Granule  bytes: blocks can be freed by address alone; 0: they are freed by size
template <class Tag, std::size_t Granule, class... Policies>
class static_classes {
 public:
  using body = typename decltype(choose_static_classes<Granule, Policies...>())::type;
  static constexpr bool may_return_chunks = requires(body& all) { all.trim(); };

  static body& instance() noexcept { return *detail::launder_address(detail::pointer_to(body_)); }

 private:
  static inline constinit body body_{values_of_static_classes<Tag, static_classes>{}};
};

}  // namespace tarn::detail

namespace tarn {

/// A pool for each size class; a larger request goes to the store:
///
///   allocate(bytes, alignment), try_allocate, deallocate(block, bytes, alignment)    blocks
///   class_size(bytes, alignment), owns(address)                                      questions
///   reserve(blocks, bytes, alignment), try_reserve, trim(), release(), reset()       chunks
///
/// Its destructor returns everything, including blocks still in use.
template <class... Policies>
class size_class_pool : public detail::class_body_of<Policies...> {
  using body = detail::class_body_of<Policies...>;

 public:
  /// As of a basic_pool.
  template <class... Given>
  constexpr explicit(sizeof...(Given) == 1) size_class_pool(const Given&... given) noexcept
      : body(detail::accept_values<typename detail::class_selection<Policies...>::values>(given...)) {}

  size_class_pool(const size_class_pool&) = TARN_DELETED("tarn: [C14] a pool can't be copied or moved; take a reference");
  void operator=(const size_class_pool&) = TARN_DELETED("tarn: [C14] a pool can't be copied or moved; take a reference");
  ~size_class_pool() { this->end(); }
};

}  // namespace tarn

#endif  // TARN_ALLOCATOR_SIZE_CLASS_POOL_H_

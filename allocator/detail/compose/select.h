// Selects the ten policies of a pool from the user's, which may have any order: for each axis the explicit policy, or else one
// that another policy implies, or else the default. All of pool.h's policies are included here.
//
// compose() in pool.h uses, in this order: home<> of a policy that is only declared; judge_selection(), which finds a type that
// isn't a policy, or two of one axis; blame(), its cause; selected<>. The rules of combinations, in rules.h,
// follow. The pool's constructor takes its policy objects by accept_values(). What is refused becomes a `rejected`.
#ifndef TARN_ALLOCATOR_DETAIL_COMPOSE_SELECT_H_
#define TARN_ALLOCATOR_DETAIL_COMPOSE_SELECT_H_

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tarn/policies/axis.h"
#include "tarn/policies/checking.h"
#include "tarn/policies/checking/checked.h"
#include "tarn/policies/checking/sampled_guard_pages.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/exhaustion.h"
#include "tarn/policies/growth.h"
#include "tarn/policies/locking.h"
#include "tarn/policies/locking/grouped_locking.h"
#include "tarn/policies/locking/lock_free.h"
#include "tarn/policies/locking/thread_cached.h"
#include "tarn/policies/name.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/retention.h"
#include "tarn/policies/reuse.h"
#include "tarn/policies/reuse/batch_reuse.h"
#include "tarn/policies/reuse/page_local_reuse.h"
#include "tarn/policies/size.h"
#include "tarn/policies/statistics.h"
#include "tarn/policies/store.h"
#include "tarn/policies/store/memory_budget.h"
#include "tarn/policies/store/page_store.h"

namespace tarn::detail {

// ---- what a rejected composition becomes: it has every member of a pool and does nothing ---------------------------------
// So its one complaint stays the only error. Choosing it causes no error yet. The error comes where a pool of that type is
// instantiated, few steps from the user's line. Products choose it as a whole, or their own replacement (rejected_objects,
// rejected_body), so code that works on pools never gets one.

/// Whether a verdict differs from this mistake. A function, so that compilers add no note about the two numbers.
template <class Verdict>
constexpr bool differs(Verdict found, Verdict mistake) noexcept {
  return found != mistake;
}

/// \tparam Complaints  classes, one of which doesn't compile: its assertion is the sentence for the user
template <class... Complaints>
class rejected {
  static_assert(((sizeof(Complaints) != 0) && ...));

 public:
  using reservation = rejected;
  static constexpr bool refuses = false;

  constexpr explicit(false) rejected(const auto&...) noexcept {}

  void* allocate(const auto&...) noexcept { return nullptr; }
  void* try_allocate(const auto&...) noexcept { return nullptr; }
  void* allocate_or_null() noexcept { return nullptr; }
  void* allocate_within(const auto&...) noexcept { return nullptr; }
  void deallocate(const auto&...) noexcept {}
  std::size_t allocate_batch(span<void*>) noexcept { return 0; }
  std::size_t try_allocate_batch(span<void*>) noexcept { return 0; }
  std::size_t allocate_batch_within(const auto&, span<void*>) noexcept { return 0; }
  void deallocate_batch(span<void* const>) noexcept {}
  void* try_allocate_large(std::size_t, std::size_t) noexcept { return nullptr; }
  void deallocate_large(void*) noexcept {}
  void reserve(std::size_t) noexcept {}
  bool try_reserve(std::size_t) noexcept { return false; }
  rejected reserve_blocks(std::size_t) noexcept { return {}; }
  rejected try_reserve_blocks(std::size_t) noexcept { return {}; }
  constexpr explicit operator bool() const noexcept { return true; }
  std::size_t remaining() const noexcept { return 0; }
  void release() noexcept {}
  std::size_t trim() noexcept { return 0; }
  maintained maintain(const auto&...) noexcept { return maintained::done; }
  void hand_over() noexcept {}
  void note_site(const auto&...) noexcept {}
  std::size_t verify() noexcept { return 0; }
  bool owns(const void*) const noexcept { return false; }
  static constexpr std::size_t block_size() noexcept { return 1; }
  static constexpr std::size_t block_alignment() noexcept { return 1; }
  std::size_t capacity() const noexcept { return 0; }
  static constexpr std::size_t bytes_for(const auto&...) noexcept { return 1; }
  static constexpr std::size_t bytes_for_peak(const auto&...) noexcept { return 1; }
  static constexpr std::size_t blocks_in(const auto&...) noexcept { return 1; }
  int statistics() const noexcept { return 0; }
  const rejected& store() const noexcept { return *this; }
  int pages() const noexcept { return 0; }
  bool explain_fault(const auto&...) const noexcept { return false; }

 protected:
  void open() noexcept {}
  void close() noexcept {}
};

/// The rejected<...> that a pool is, found without instantiating it; void: none.
template <class Pool>
struct rejection_of : std::type_identity<void> {};
template <class... Complaints>
struct rejection_of<rejected<Complaints...>> : std::type_identity<rejected<Complaints...>> {};
template <class Pool>
inline constexpr bool is_rejected = !std::is_void_v<typename rejection_of<Pool>::type>;

// ---- what is wrong with the policies before they are combined: verdicts are values, which cause no error -----------------

template <class Axis, class... Ps>
inline constexpr std::size_t count_on = (0 + ... + std::size_t{policy_on<Ps, Axis>});

/// A policy that a product decides by itself. pool<by_product<size_of<T>>, Policies...> has size_of<T>; another size among the
/// policies is rejected with a sentence that says which product decides.
template <class P>
struct by_product {
  using axis = typename P::axis;
};
template <class P>
struct bare : std::type_identity<P> {};
template <class P>
struct bare<by_product<P>> : std::type_identity<P> {};
template <class P>
inline constexpr bool is_by_product = false;
template <class P>
inline constexpr bool is_by_product<by_product<P>> = true;

enum class selection {
  good,
  no_policy,
  pool_for_policy,
  product_decides_size,
  product_decides_growth,
  product_decides_store,
  product_decides_reuse,
  many_sizes,
  no_size,
  two_sizes,
  two_lockings,
  two_growths,
  two_stores,
  two_reuses,
  two_retentions,
  two_exhaustions,
  two_checkings,
  two_statistics,
  two_names
};

template <class... Ps>
constexpr selection judge_selection() noexcept {
  if (!(policy<Ps> && ...)) return selection::no_policy;
  if ((size_class_policy<Ps> || ...)) return selection::many_sizes;
  if (count_on<axis::size, Ps...> == 0) return selection::no_size;
  if (count_on<axis::size, Ps...> > 1) return selection::two_sizes;
  if (count_on<axis::locking, Ps...> > 1) return selection::two_lockings;
  if (count_on<axis::growth, Ps...> > 1) return selection::two_growths;
  if (count_on<axis::store, Ps...> > 1) return selection::two_stores;
  if (count_on<axis::reuse, Ps...> > 1) return selection::two_reuses;
  if (count_on<axis::retention, Ps...> > 1) return selection::two_retentions;
  if (count_on<axis::exhaustion, Ps...> > 1) return selection::two_exhaustions;
  if (count_on<axis::checking, Ps...> > 1) return selection::two_checkings;
  if (count_on<axis::statistics, Ps...> > 1) return selection::two_statistics;
  if (count_on<axis::name, Ps...> > 1) return selection::two_names;
  return selection::good;
}

/// A pool, or a product over one. Not a memory resource, which has is_equal().
template <class P>
concept pool_like = (requires(P& p, void* block) { p.deallocate(block, 1, 1); } && !requires(P& p) { p.is_equal(p); }) ||
                    requires(P& p) { p.blocks(); } || requires { P::instance(); };

/// Who made the mistake that was found. Evaluated only after a verdict, because it takes compile time.
template <selection Verdict, class... Ps>
constexpr selection blame() noexcept {
  using enum selection;
  constexpr auto decided = []<class Axis>(Axis) { return ((is_by_product<Ps> && policy_on<Ps, Axis>) || ...); };
  if constexpr (Verdict == no_policy) return (pool_like<Ps> || ...) ? pool_for_policy : Verdict;
  else if (Verdict == two_sizes || Verdict == many_sizes) return decided(axis::size{}) ? product_decides_size : Verdict;
  else if (Verdict == two_growths) return decided(axis::growth{}) ? product_decides_growth : Verdict;
  else if (Verdict == two_stores) return decided(axis::store{}) ? product_decides_store : Verdict;
  else if (Verdict == two_reuses) return decided(axis::reuse{}) ? product_decides_reuse : Verdict;
  else return Verdict;
}

// ---- complaints: one error per mistake ------------------------------------------------------------------------------------

template <selection Verdict>
struct selection_complaint {
  using enum selection;
  static_assert(
      differs(Verdict, no_policy),
      "tarn: [C3] an argument of pool<...> isn't a policy; write size_of<T> for blocks of type T, mutex_locking<M> for a mutex "
      "M");
  static_assert(
      differs(Verdict, pool_for_policy),
      "tarn: [C13] a pool was given where policies are expected; write the pool's policies instead (a container can take a "
      "size_class_pool)");
  static_assert(
      differs(Verdict, product_decides_size),
      "tarn: [C12] a size policy was given to a pool or container whose type determines the block size; drop the size policy, "
      "or use pool<...>");
  static_assert(
      differs(Verdict, product_decides_growth),
      "tarn: [C12] a growth policy was given to pool_resource, which grows as its std::pmr::pool_options say; drop the growth "
      "policy, or use size_class_pool");
  static_assert(
      differs(Verdict, product_decides_store),
      "tarn: [C12] a store was given to pool_resource, which takes its memory from the resource passed to its constructor; "
      "drop the store, or use size_class_pool");
  static_assert(
      differs(Verdict, product_decides_reuse),
      "tarn: [C12] a reuse policy was given to recycling_pool, which keeps its idle objects in the free blocks of lifo_reuse; "
      "drop the reuse policy, or use object_pool");
  static_assert(
      differs(Verdict, many_sizes),
      "tarn: [C10] size classes were given to a pool whose blocks have one size; use size_class_pool<...> for blocks of many "
      "sizes, or static_size<Bytes>");
  static_assert(differs(Verdict, no_size),
                "tarn: [C1] no policy was given for the axis size, so blocks have no size; add static_size<Bytes>, size_of<T> "
                "or dynamic_size");
  static_assert(differs(Verdict, two_sizes), "tarn: [C2] two policies were given for the axis size; keep one");
  static_assert(differs(Verdict, two_lockings), "tarn: [C2] two policies were given for the axis locking; keep one");
  static_assert(differs(Verdict, two_growths), "tarn: [C2] two policies were given for the axis growth; keep one");
  static_assert(differs(Verdict, two_stores), "tarn: [C2] two policies were given for the axis store; keep one");
  static_assert(differs(Verdict, two_reuses), "tarn: [C2] two policies were given for the axis reuse; keep one");
  static_assert(differs(Verdict, two_retentions), "tarn: [C2] two policies were given for the axis retention; keep one");
  static_assert(differs(Verdict, two_exhaustions), "tarn: [C2] two policies were given for the axis exhaustion; keep one");
  static_assert(differs(Verdict, two_checkings), "tarn: [C2] two policies were given for the axis checking; keep one");
  static_assert(differs(Verdict, two_statistics), "tarn: [C2] two policies were given for the axis statistics; keep one");
  static_assert(differs(Verdict, two_names), "tarn: [C2] two policies were given for the axis name; keep one");
};

// ---- the ten -------------------------------------------------------------------------------------------------------------

/// Whether P is valid by itself, whatever it is combined with. A policy with parameters states this in `arguments_hold`, and
/// the reason in `complaint`. It asserts nothing itself, so mentioning it causes no error, and using it causes one error here.
template <class P>
inline constexpr bool arguments_hold = true;
template <class P>
  requires requires { P::arguments_hold; }
inline constexpr bool arguments_hold<P> = P::arguments_hold;

/// The policy that P implies for an axis, or void.
template <class P, class Axis>
struct implied_by {
  using type = void;
};
template <class P, class Axis>
  requires policy_on<typename P::implies, Axis>
struct implied_by<P, Axis> {
  using type = typename P::implies;
};

/// The first of the candidates that isn't void, or void.
template <class... Candidates>
struct first_of : std::type_identity<void> {};
template <class First, class... Rest>
struct first_of<First, Rest...> : std::type_identity<First> {};
template <class... Rest>
struct first_of<void, Rest...> : first_of<Rest...> {};

template <class Axis, class P>
using if_on = std::conditional_t<policy_on<P, Axis>, P, void>;

/// The user's policy for an axis, or else the one that another policy implies, or else the default. If two policies imply
/// different ones, the order of the axes decides, so the order of the arguments doesn't matter.
template <class Axis, class Default, class... Ps>
using choose = typename first_of<if_on<Axis, Ps>..., typename implied_by<if_on<axis::locking, Ps>, Axis>::type...,
                                 typename implied_by<if_on<axis::store, Ps>, Axis>::type...,
                                 typename implied_by<if_on<axis::retention, Ps>, Axis>::type...,
                                 typename implied_by<if_on<axis::checking, Ps>, Axis>::type..., Default>::type;

template <class P>
concept bounded_store = store_policy<P> && P::traits.bounded;

/// The default of products that any thread may use. Over a bounded store, a thread must not keep free blocks.
template <class... Ps>
using default_sharing = std::conditional_t<(bounded_store<Ps> || ...), shared_locking_of_bounded, shared_locking>;

/// Several policies as one argument. A product uses it to add its own defaults; policies that others imply take precedence.
template <class... Ps>
struct policy_list {
  template <class Axis, class Default>
  using with_default =
      std::conditional_t<std::is_void_v<choose<Axis, void, Ps...>>, policy_list<Ps..., Default>, policy_list<Ps...>>;
  template <template <class...> class Product, class... First>
  using into = Product<First..., Ps...>;
};

template <class P>
struct canonical {
  using type = P;
};
template <class P>
  requires(arguments_hold<P> && requires { typename P::canonical; })
struct canonical<P> {
  using type = typename P::canonical;
};

/// Whether the plain list is the default: small blocks can't hold a batch, and a bounded pool is small.
template <class Size, class Store>
constexpr bool prefers_lifo() noexcept {
  if constexpr (!size_policy<Size> || !store_policy<Store>) return true;  // refused later; no error here
  else if constexpr (Store::traits.bounded) return true;
  else if constexpr (Size::traits.at_run_time) return false;
  else return Size::bytes() < batch_reuse<>::traits.min_block;
}

/// A bounded store has one chunk, whether or not it implies a growth policy.
template <class Store>
constexpr auto default_growth() noexcept {
  if constexpr (bounded_store<Store>) return std::type_identity<no_growth<>>{};
  else return std::type_identity<geometric_growth<>>{};
}

template <template <class...> class Pool, class... Ps>
struct selected {
  using size = typename canonical<choose<axis::size, void, Ps...>>::type;
  using store = choose<axis::store, heap_store, Ps...>;
  using default_growth = typename decltype(detail::default_growth<store>())::type;
  using growth = typename canonical<choose<axis::growth, default_growth, Ps...>>::type;
  using default_reuse = std::conditional_t<prefers_lifo<size, store>(), lifo_reuse<>, batch_reuse<>>;
  using type = Pool<size, choose<axis::locking, no_locking, Ps...>, growth, store,
                    choose<axis::reuse, default_reuse, Ps...>, choose<axis::retention, keep_chunks, Ps...>,
                    choose<axis::exhaustion, report_exhaustion, Ps...>, choose<axis::checking, no_checking, Ps...>,
                    choose<axis::statistics, no_statistics, Ps...>, choose<axis::name, unnamed, Ps...>>;
};

// ---- the policy objects that a constructor was given, in any order; missing ones are default-constructed -----------------

template <class P, class... Given>
inline constexpr std::size_t times_given = (std::size_t{0} + ... + std::size_t{std::same_as<P, Given>});

enum class giving { good, unknown, twice, missing };

/// Several policies as one type.
template <class... Ps>
struct policy_types {};

/// \tparam Policies  the pool's policies, as policy_types
template <class Policies, class... Given>
struct judge_values;
template <class... Ps, class... Given>
struct judge_values<policy_types<Ps...>, Given...> {
  static constexpr giving verdict = !(one_of<Given, Ps...> && ...)           ? giving::unknown
                                    : ((times_given<Ps, Given...> > 1) || ...) ? giving::twice
                                    : ((times_given<Ps, Given...> == 1 || std::default_initializable<Ps>) && ...)
                                        ? giving::good
                                        : giving::missing;
};

template <giving Verdict>
struct value_complaint {
  static_assert(differs(Verdict, giving::unknown),
                "tarn: [C6] the constructor was given an object that isn't a policy of this pool; pass only objects of the "
                "pool's own policy types");
  static_assert(differs(Verdict, giving::twice), "tarn: [C4] the constructor was given two objects of one policy; keep one");
  static_assert(differs(Verdict, giving::missing),
                "tarn: [C5] a policy of this pool has no default value (dynamic_size, buffer_store, resource_store, budgeted "
                "without the budget's name, retry_with a function, run_time_name); pass an object of it to the constructor");
};

template <class P>
struct given_value {
  const P& value;
};

/// Whether copies of these objects can't fail. A handler of retry_with may need memory for one.
template <class... Given>
inline constexpr bool copies_cannot_throw = (std::is_nothrow_copy_constructible_v<Given> && ...);

template <class... Given>
class values : given_value<Given>... {
 public:
  static constexpr bool nothrow = copies_cannot_throw<Given...>;

  TARN_STEP constexpr explicit values(const Given&... given) noexcept : given_value<Given>{given}... {}

  template <class P>
  TARN_STEP constexpr decltype(auto) get() const noexcept {
    if constexpr (times_given<P, Given...> == 1) return (static_cast<const given_value<P>&>(*this).value);  // not a copy of it
    else return P{};
  }
};

/// The same and one more: the size of the blocks, for a pool whose code knows it as a number, or its entry in the registry.
/// \tparam Values  a reference, or what is copied
template <class Values, class Its>
class values_and {
  using others = std::remove_cvref_t<Values>;

 public:
  static constexpr bool nothrow = others::nothrow;

  TARN_STEP constexpr values_and(Values values, Its its) noexcept : values_(values), its_(its) {}

  template <class P>
  TARN_STEP constexpr decltype(auto) get() const noexcept {
    if constexpr (std::same_as<P, Its>) return (its_);
    else return values_.template get<P>();
  }
  /// See static_pool.h.
  template <class Array>
  static constexpr Array* array_of() noexcept
    requires requires { others::template array_of<Array>(); }
  {
    return others::template array_of<Array>();
  }

 private:
  Values values_;
  Its its_;
};
template <class Name, class Values>
TARN_STEP constexpr auto with_listing(const Values& values) noexcept {
  if constexpr (!name_policy<Name>) return values;  // refused
  else if constexpr (!Name::traits.is_listed) return values;
  else return values_and<Values, listed>(values, listed{values.template get<Name>().listing()});
}

/// After a complaint: what the pool's constructor needs to compile. Never run.
struct no_values {
  static constexpr bool nothrow = true;
  template <class P>
  constexpr const P& get() const noexcept {
    TARN_UNREACHABLE();  // not a dereferenced null, about which clang warns in each pool
  }
};

template <class Policies, class... Given>
constexpr auto accept_values(const Given&... given) noexcept {
  constexpr giving verdict = judge_values<Policies, Given...>::verdict;
  if constexpr (verdict == giving::good) {
    return values<Given...>(given...);
  } else {
    [[maybe_unused]] value_complaint<verdict> c;
    return no_values{};
  }
}

}  // namespace tarn::detail

// Included only if the program already has the standard headers that they need.
#include "tarn/policies/platform/included.h"
#if defined(TARN_MUTEX_IS_INCLUDED)
#include "tarn/policies/locking/group_guard.h"
#endif
#if defined(TARN_MEMORY_RESOURCE_IS_INCLUDED)
#include "tarn/policies/store/resource_store.h"
#endif

#endif  // TARN_ALLOCATOR_DETAIL_COMPOSE_SELECT_H_

// Selects the ten policies of a pool from the user's, which may have any order: for each axis the explicit policy, or else one
// that another policy implies, or else the default. Then the rules say whether they can be combined. All of pool.h's policies
// are included here.
//
// compose() in pool.h uses, in this order: home<> of a policy that is only declared; judge_selection(), which finds a type that
// isn't a policy, or two of one axis; blame(), its cause; selected<>. Then choose_body() asks: shapes_hold, each policy by
// itself; first_broken() of the composition; columns_hold and members_hold, what this pool uses of each. The pool's
// constructor takes its policy objects by accept_values(). What is refused becomes a `rejected`.
#ifndef TARN_ALLOCATOR_DETAIL_COMPOSE_SELECT_H_
#define TARN_ALLOCATOR_DETAIL_COMPOSE_SELECT_H_

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tarn/policies/axis.h"
#include "tarn/policies/checking.h"
#include "tarn/policies/checking/checked.h"
#include "tarn/policies/checking/sampled_guard_pages.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/exhaustion.h"
#include "tarn/policies/growth.h"
#include "tarn/policies/locking.h"
#include "tarn/policies/locking/lock_free.h"
#include "tarn/policies/locking/thread_cached.h"
#include "tarn/policies/name.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"
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

// ---- rules: which policies can be combined --------------------------------------------------------------------------------
//
// Every rule has a number, an `if` over what the policies declare about themselves, and a complaint. That is the sentence for
// the user: what was combined, why it can't work, what to write instead. docs/rules.md lists the rules; test/compile_fail/
// shows each one firing.

// ---- one policy by itself: are its arguments valid, and does it have what the pool uses of its axis? ---------------------

struct no_complaint {};
template <class P>
struct argument_complaint : std::type_identity<no_complaint> {};
template <class P>
  requires(!arguments_hold<P>)
struct argument_complaint<P> : std::type_identity<typename P::complaint> {};

template <class Size, class Locking, class Growth, class Store, class Reuse, class Retention, class Exhaustion, class Checking,
          class Statistics, class Name>
concept shapes_hold =
    arguments_hold<Size> && arguments_hold<Locking> && arguments_hold<Growth> && arguments_hold<Store> &&
    arguments_hold<Reuse> && arguments_hold<Retention> && arguments_hold<Exhaustion> && arguments_hold<Checking> &&
    arguments_hold<Statistics> && arguments_hold<Name> && size_policy<Size> && locking_policy<Locking> &&
    growth_policy<Growth> && store_policy<Store> && reuse_policy<Reuse> && retention_policy<Retention> &&
    exhaustion_policy<Exhaustion> && checking_policy<Checking> && statistics_policy<Statistics> && name_policy<Name>;

/// What this pool keeps for each chunk; and whether each policy has what this pool uses. Evaluated only if no rule is broken,
/// one after the other. Not concepts, because g++ 12 crashes on them.
template <class Traits>
inline constexpr bool columns_hold = column<typename Traits::locking::template per_chunk<Traits>, typename Traits::geometry> &&
                                     column<typename Traits::reuse::template per_chunk<Traits>, typename Traits::geometry> &&
                                     column<typename Traits::checking::template per_chunk<Traits>, typename Traits::geometry>;
template <class Traits>
inline constexpr bool members_hold =
    locking_members<typename Traits::locking, Traits> && store_members<typename Traits::store, Traits> &&
    reuse_members<typename Traits::reuse, Traits> && second_store_holds<typename Traits::exhaustion, Traits> &&
    exhaustion_members<typename Traits::exhaustion, Traits> && checking_members<typename Traits::checking, Traits> &&
    statistics_members<typename Traits::statistics, Traits>;

#define TARN_P1 \
  "tarn: [P1] this size policy lacks a member that the pool uses; the notes name it, policies/size.h lists all"
#define TARN_P2 \
  "tarn: [P2] this locking policy lacks a member that the pool uses; the notes name it, policies/locking.h lists all"
#define TARN_P3 \
  "tarn: [P3] this growth policy lacks a member that the pool uses; the notes name it, policies/growth.h lists all"
#define TARN_P4 \
  "tarn: [P4] this store policy lacks a member that the pool uses; the notes name it, policies/store.h lists all"
#define TARN_P5 \
  "tarn: [P5] this reuse policy lacks a member that the pool uses; the notes name it, policies/reuse.h lists all"
#define TARN_P6 \
  "tarn: [P6] this retention policy lacks a member that the pool uses; the notes name it, policies/retention.h lists all"
#define TARN_P7 \
  "tarn: [P7] this exhaustion policy lacks a member that the pool uses; the notes name it, policies/exhaustion.h lists all"
#define TARN_P8 \
  "tarn: [P8] this checking policy lacks a member that the pool uses; the notes name it, policies/checking.h lists all"
#define TARN_P9 \
  "tarn: [P9] this statistics policy lacks a member that the pool uses; the notes name it, policies/statistics.h lists all"
#define TARN_P10 \
  "tarn: [P10] this name policy lacks a member that the pool uses; the notes name it, policies/name.h lists all"

template <class Size, class Locking, class Growth, class Store, class Reuse, class Retention, class Exhaustion, class Checking,
          class Statistics, class Name>
struct policies_complaint {
  static_assert(size_policy<Size>, TARN_P1);
  static_assert(locking_policy<Locking>, TARN_P2);
  static_assert(growth_policy<Growth>, TARN_P3);
  static_assert(store_policy<Store>, TARN_P4);
  static_assert(reuse_policy<Reuse>, TARN_P5);
  static_assert(retention_policy<Retention>, TARN_P6);
  static_assert(exhaustion_policy<Exhaustion>, TARN_P7);
  static_assert(checking_policy<Checking>, TARN_P8);
  static_assert(statistics_policy<Statistics>, TARN_P9);
  static_assert(name_policy<Name>, TARN_P10);
};
template <class Traits>
struct columns_complaint {
  static_assert(column<typename Traits::locking::template per_chunk<Traits>, typename Traits::geometry>, TARN_P2);
  static_assert(column<typename Traits::reuse::template per_chunk<Traits>, typename Traits::geometry>, TARN_P5);
  static_assert(column<typename Traits::checking::template per_chunk<Traits>, typename Traits::geometry>, TARN_P8);
};
template <class Store, class Traits>
struct store_complaint {
  static_assert(serving_store<Store, Traits>, TARN_P4);
};
template <class Exhaustion, class Traits>
struct second_store_complaint : std::type_identity<no_complaint> {};
template <class Exhaustion, class Traits>
  requires(!second_store_holds<Exhaustion, Traits>)
struct second_store_complaint<Exhaustion, Traits>
    : std::type_identity<store_complaint<typename Exhaustion::second_store, Traits>> {};
template <class Traits>
struct members_complaint {
  static_assert(locking_members<typename Traits::locking, Traits>, TARN_P2);
  static_assert(store_members<typename Traits::store, Traits>, TARN_P4);
  static_assert(reuse_members<typename Traits::reuse, Traits>, TARN_P5);
  static_assert(exhaustion_members<typename Traits::exhaustion, Traits>, TARN_P7);
  static_assert(checking_members<typename Traits::checking, Traits>, TARN_P8);
  static_assert(statistics_members<typename Traits::statistics, Traits>, TARN_P9);
};

#undef TARN_P1
#undef TARN_P2
#undef TARN_P3
#undef TARN_P4
#undef TARN_P5
#undef TARN_P6
#undef TARN_P7
#undef TARN_P8
#undef TARN_P9
#undef TARN_P10

template <class Traits>
using rejected_members =
    rejected<typename second_store_complaint<typename Traits::exhaustion, Traits>::type, members_complaint<Traits>>;

/// Arguments first: a policy with invalid arguments isn't examined further.
template <class... Ps>
using rejected_shape = std::conditional_t<(arguments_hold<Ps> && ...), rejected<policies_complaint<Ps...>>,
                                          rejected<typename argument_complaint<Ps>::type...>>;

// ---- several together ----------------------------------------------------------------------------------------------------

/// What the rules examine: what each policy declares about itself, and what follows from several of them.
struct composition {
  size_traits size;
  std::size_t bytes = 1;      // of a block, and its alignment, if known when the pool is compiled
  std::size_t alignment = 1;
  locking_traits locking;
  growth_traits growth;
  store_traits store;
  reuse_traits reuse;
  bool reuse_is_implied = true;  // it is the one that the locking policy implies
  retention_traits retention;
  exhaustion_traits exhaustion;
  checking_traits checking;
  bool is_listed = true;  // the pool has a name
  bool has_atomics = platform::has_atomics;
  bool has_threads = platform::system::has_threads;
  bool outgrows_locking = false;  // growth is known to allow more blocks than the locking policy can tell apart
  std::size_t first_chunk = 0;  // bytes, if known when the pool is compiled; size_max: too many
};

enum class rule { none, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15, r16, r17, y4, y10 };

/// The first rule that is broken. A cause comes before its consequences.
constexpr rule first_broken(const composition& c) noexcept {
  const bool is_static = !c.size.at_run_time;
  if (is_static && c.bytes == 0) return rule::r1;
  if (is_static && !is_power_of_two(c.alignment)) return rule::r2;
  if (is_static && (c.bytes > size_limit || c.alignment > size_limit)) return rule::r7;
  if (is_static && c.bytes < c.reuse.min_block && c.reuse.min_block > sizeof(void*)) return rule::r6;
  if (c.locking.compares_and_swaps && !c.has_atomics) return rule::y4;
  if (c.locking.tag_comes_round && c.has_threads) return rule::y10;
  if (c.store.bounded && c.growth.max_chunks != 1) return rule::r3;
  if (c.exhaustion.store_is_bounded && c.exhaustion.extra_chunks != 1) return rule::r3;
  if (!is_static && (c.store.sized_by_geometry || c.exhaustion.store_is_sized_by_geometry)) return rule::r4;
  if (c.growth.needs_bounded_store && !c.store.bounded) return rule::r5;
  if (c.store.bounded && c.locking.keeps_blocks) return rule::r10;
  if (c.locking.own_free_list && !c.reuse_is_implied && !c.retention.returns_chunks) return rule::r11;
  if (c.retention.returns_chunks && !c.locking.may_return_chunks) return rule::r9;
  if (c.retention.returns_chunks && !c.reuse.sees_empty_chunks) return rule::r8;
  if (c.retention.returns_pages && !c.store.can_discard) return rule::r15;
  if (c.checking.checks_leaving && !c.reuse.sees_empty_chunks) return rule::r14;
  if (c.exhaustion.needs_frees() && !c.locking.can_wait) return rule::r12;
  if (c.exhaustion.reclaims && c.store.bounded) return rule::r13;
  if (c.first_chunk > size_limit) return rule::r7;
  if (c.outgrows_locking) return rule::r16;
  if (c.checking.switches && !c.is_listed) return rule::r17;
  return rule::none;
}

/// Whether the first chunk is known at compile time. It need not be, because its size is checked again when the chunk is
/// created.
template <class Growth, std::size_t Stride>
concept foreseeable = requires { typename std::integral_constant<std::size_t, Growth{}.next_chunk(0, 0, Stride).wanted>; };

/// Whether growth allows more than `Most` blocks, as far as it is known when the pool is compiled.
template <class Growth, std::size_t Stride, std::size_t Most>
constexpr bool outgrows() noexcept {
  if constexpr (Most != unlimited && foreseeable<Growth, Stride>)
    return Growth{}.next_chunk(0, 0, Stride).wanted > Most || Growth{}.next_chunk(Most, Most, Stride).at_most != 0;
  else return false;
}

template <class Locking, class Reuse>
constexpr bool implies_reuse() noexcept {
  if constexpr (Locking::traits.own_free_list) return std::is_same_v<Reuse, typename Locking::implies>;
  else return true;
}

/// \tparam Size, Locking ...  policies that satisfy the concepts of their axes
template <class Size, class Locking, class Growth, class Store, class Reuse, class Retention, class Exhaustion, class Checking,
          class Name>
constexpr composition composition_of() noexcept {
  composition c{.size = Size::traits, .locking = Locking::traits, .growth = Growth::traits, .store = Store::traits,
                .reuse = Reuse::traits, .reuse_is_implied = implies_reuse<Locking, Reuse>(), .retention = Retention::traits,
                .exhaustion = Exhaustion::traits, .checking = Checking::traits, .is_listed = Name::traits.is_listed};
  if constexpr (!Size::traits.at_run_time) {
    c.bytes = Size::bytes();
    c.alignment = Size::alignment();
    constexpr geometry<Size, shape_for<Reuse, Checking>()> g;
    if constexpr (foreseeable<Growth, g.stride()>) c.first_chunk = g.extent(Growth{}.next_chunk(0, 0, g.stride()).wanted);
    c.outgrows_locking = outgrows<Growth, g.stride(), Locking::traits.most_blocks>();
  }
  return c;
}

template <rule Broken>
struct rule_complaint {
  static_assert(differs(Broken, rule::r1),
                "tarn: [R1] static_size was given zero bytes, so all blocks would have the same address; give at least 1");
  static_assert(
      differs(Broken, rule::r2),
      "tarn: [R2] the alignment isn't a power of two, so no address can have it; give an alignment of 1, 2, 4, 8 ...");
  static_assert(differs(Broken, rule::r3),
                "tarn: [R3] a growth policy of several chunks was combined with a store that has only one (static_array_store, "
                "buffer_store); drop the growth policy, or use heap_store or page_store");
  static_assert(differs(Broken, rule::r4),
                "tarn: [R4] dynamic_size was combined with static_array_store, whose array is sized at compile time; use "
                "static_size, or buffer_store with your own bytes");
  static_assert(differs(Broken, rule::r5),
                "tarn: [R5] no_growth<> without a number was combined with an unbounded store, so the size of its one chunk is "
                "unknown; use no_growth<Blocks>");
  static_assert(
      differs(Broken, rule::r6),
      "tarn: [R6] batch_reuse was combined with blocks under 16 bytes, but it stores two pointers in a free block; use "
      "lifo_reuse<>, or blocks of at least 16 bytes");
  static_assert(
      differs(Broken, rule::r7),
      "tarn: [R7] the block, or the first chunk, is larger than the address space allows; lower the size or the number of "
      "blocks");
  static_assert(differs(Broken, rule::r8),
                "tarn: [R8] a retention policy that returns empty chunks was combined with a reuse policy that can't detect "
                "them, such as recycling_pool's own; drop the reuse policy, if you gave one, or the retention policy");
  static_assert(
      differs(Broken, rule::r9),
      "tarn: [R9] a retention policy that returns chunks was combined with a locking policy under which other threads may "
      "still read a returned chunk (lock_free); use keep_chunks, or mutex_locking");
  static_assert(
      differs(Broken, rule::r10),
      "tarn: [R10] thread_cached was combined with a store that has only one chunk (static_array_store, buffer_store), so one "
      "thread may find no block while other threads cache all free ones; use mutex_locking or lock_free");
  static_assert(differs(Broken, rule::r11),
                "tarn: [R11] lock_free was combined with a reuse policy, but it keeps all free blocks on its own stack; drop "
                "the reuse policy, or use thread_cached or mutex_locking");
  static_assert(
      differs(Broken, rule::r12),
      "tarn: [R12] wait_for_block was combined with a locking policy under which no other thread can free a block for the "
      "thread that waits (no_locking, interrupt_locking, grouped_locking without a mutex, thread_cached, lock_free); use "
      "mutex_locking");
  static_assert(
      differs(Broken, rule::r13),
      "tarn: [R13] reclaim_and_retry was combined with a store that has only one chunk (static_array_store, buffer_store), "
      "which can't use the memory that other pools return; use retry_with, or fall_back_to<heap_store>");
  static_assert(
      differs(Broken, rule::r14),
      "tarn: [R14] deferred_checking was combined with a reuse policy without a bitmap of the free blocks, which it checks "
      "frees against; drop the reuse policy, or use hardened");
  static_assert(
      differs(Broken, rule::r15),
      "tarn: [R15] a retention policy that returns pages was combined with a store whose pages can't be returned one by one "
      "(heap_store, buffer_store, static_array_store, resource_store, page_store with huge_pages or locked_pages); use "
      "page_store<>, or return_empty_chunks");
  static_assert(differs(Broken, rule::r16),
                "tarn: [R16] lock_free was combined with growth that may exceed 65,535 blocks, but with this target's 32-bit "
                "compare-and-swap it supports no more; give a cap, as in geometric_growth<64, 1024, 2, 65535>, or use "
                "interrupt_locking<>");
  static_assert(
      differs(Broken, rule::r17),
      "tarn: [R17] switchable_checking was combined with a pool without a name, but checks are switched on by name; add the "
      "policy named, or use hardened, which always checks");
  static_assert(differs(Broken, rule::y4),
                "tarn: [Y4] lock_free was used, but this processor has no compare-and-swap; use interrupt_locking<>, which "
                "masks interrupts");
  static_assert(differs(Broken, rule::y10),
                "tarn: [Y10] lock_free was used, but this target has threads and only a 32-bit compare-and-swap, whose 16-bit "
                "tag may repeat while a thread is stopped; use mutex_locking<>");
};

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

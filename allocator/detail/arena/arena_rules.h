// Which policies an arena takes, and what a refused one becomes. An arena has seven axes: those of a pool but for the size of a
// block, which each call names, and for what is done with single free blocks and with empty chunks.
//
// compose_arena() asks, in this order: judge_arena(), which policies are given; shapes_hold, each by itself; judge_axes(), each
// as an arena needs it; first_broken() of select.h; what stores and exhaustion policies have.
#ifndef TARN_ALLOCATOR_DETAIL_ARENA_ARENA_RULES_H_
#define TARN_ALLOCATOR_DETAIL_ARENA_ARENA_RULES_H_

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/arena/arena_body.h"
#include "tarn/allocator/detail/arena/arena_traits.h"
#include "tarn/allocator/detail/compose/select.h"
#include "tarn/policies/detail/protocol.h"
#include "tarn/policies/name.h"
#include "tarn/policies/statistics.h"

namespace tarn {
template <class Locking, class Growth, class Store, class Exhaustion, class Checking, class Statistics, class Name>
class basic_arena;
}  // namespace tarn

namespace tarn::detail {

// ---- verdicts ------------------------------------------------------------------------------------------------------------

enum class arena_verdict {
  good,
  no_policy,
  has_size,
  has_reuse,
  has_retention,
  keeps_blocks,
  waits,
  looks_at_blocks,
  tells_blocks,
  grows_ahead,
  needs_value,
  not_constant
};

template <class... Ps>
constexpr arena_verdict judge_arena() noexcept {
  if (!(policy<Ps> && ...)) return arena_verdict::no_policy;
  if (count_on<axis::size, Ps...> != 0) return arena_verdict::has_size;
  if (count_on<axis::reuse, Ps...> != 0) return arena_verdict::has_reuse;
  if (count_on<axis::retention, Ps...> != 0) return arena_verdict::has_retention;
  return arena_verdict::good;
}

/// Whether a checking policy finds in an arena what it promises; an arena has no free blocks to look at.
constexpr bool suits_arena(const checking_traits& its) noexcept {
  if (its.switches || its.samples || its.checks_leaving || its.shuffles || its.has_sites) return false;
  return its.fills || (its.prefix == 0 && !its.has_generations);  // hardened's options
}

template <class Locking, class Growth, class Exhaustion, class Checking, class Statistics>
constexpr arena_verdict judge_axes() noexcept {
  if (Locking::traits.keeps_blocks || Locking::traits.own_free_list || Locking::traits.has_owner)
    return arena_verdict::keeps_blocks;
  if (Exhaustion::traits.needs_frees() || Exhaustion::traits.reclaims) return arena_verdict::waits;
  if (!detail::suits_arena(Checking::traits)) return arena_verdict::looks_at_blocks;
  if (!one_of<Statistics, no_statistics, counting_statistics>) return arena_verdict::tells_blocks;
  if (Growth::traits.grows_ahead) return arena_verdict::grows_ahead;
  return arena_verdict::good;
}

template <arena_verdict Verdict>
struct arena_complaint {
  using enum arena_verdict;
  static_assert(differs(Verdict, no_policy),
                "tarn: [V1] an argument of arena<...> isn't a policy; write heap_store, fixed_growth<Bytes>, mutex_locking<M> "
                "for a mutex M, or nothing");
  static_assert(differs(Verdict, has_size),
                "tarn: [V2] a size policy was given to an arena, but each call gives the size of its block; drop the policy, "
                "or use pool<...>");
  static_assert(differs(Verdict, has_reuse),
                "tarn: [V3] a reuse policy was given to an arena, whose blocks become free all at once; drop the policy, or "
                "use pool<...>");
  static_assert(differs(Verdict, has_retention),
                "tarn: [V4] a retention policy was given to an arena, whose chunks stay until reset(bytes), trim() or "
                "release(); drop the policy, and call one of these");
  static_assert(differs(Verdict, keeps_blocks),
                "tarn: [V5] an arena was combined with a locking policy that keeps free blocks, or gives a group of threads "
                "one lock (thread_cached, lock_free, grouped_locking); use an arena for each thread, or mutex_locking<>");
  static_assert(differs(Verdict, waits),
                "tarn: [V6] an arena was combined with an exhaustion policy that waits for freed blocks, or asks for empty "
                "chunks (wait_for_block, reclaim_and_retry), but an arena frees all at once; use report_exhaustion, "
                "retry_with<Handler> or fall_back_to<Store>");
  static_assert(differs(Verdict, looks_at_blocks),
                "tarn: [V7] an arena was combined with a checking policy, or an option of one, that checks single free blocks "
                "(deferred_checking, sampled_guard_pages, switchable_checking, guard_bytes, generations, shuffled, sites), "
                "but an arena has none; use checked or hardened");
  static_assert(differs(Verdict, tells_blocks),
                "tarn: [V8] an arena was combined with a statistics policy other than counting_statistics, which would be "
                "notified of each block, but an arena frees blocks without notice; use counting_statistics, or traced<Sink, "
                "arena<...>>");
  static_assert(
      differs(Verdict, grows_ahead),
      "tarn: [V9] an arena was combined with grow_ahead, whose blocks maintain() gets ready, but an arena has no maintain(); "
      "use the growth policy inside it, and allocate and reset() once at the start");
  static_assert(differs(Verdict, needs_value),
                "tarn: [V11] a static arena was given a policy that needs a value (buffer_store, resource_store, retry_with a "
                "function, run_time_name); use another policy, or an arena object");
  static_assert(
      differs(Verdict, not_constant),
      "tarn: [V12] a static arena was given a policy or mutex whose constructor would run when the program starts, or whose "
      "destructor would run at exit, while other code still allocates; use one that needs neither, such as tarn::mutex");
};

// ---- a refused arena -----------------------------------------------------------------------------------------------------

/// Has every member of an arena, and does nothing.
template <class Rejection>
struct rejected_arena;
template <class... Complaints>
struct rejected_arena<rejected<Complaints...>> : rejected<> {
  static_assert(((sizeof(Complaints) != 0) && ...));

  struct mark_type {};
  struct scope {
    explicit scope(rejected_arena&) noexcept {}
    ~scope() {}
  };
  template <class... Anything>
  constexpr explicit(false) rejected_arena(const Anything&...) noexcept {}

  using rejected<>::allocate;
  using rejected<>::try_allocate;
  template <std::size_t, std::size_t = 1>
  void* allocate() noexcept {
    return nullptr;
  }
  template <std::size_t, std::size_t = 1>
  void* try_allocate() noexcept {
    return nullptr;
  }
  static bool grow_last(void*, std::size_t, std::size_t) noexcept { return false; }
  template <class T, class... Args>
  T* create(Args&&...) noexcept {
    return nullptr;
  }
  template <class T>
  span<T> make_span(std::size_t) noexcept {
    return {};
  }
  static mark_type mark() noexcept { return {}; }
  static void rewind(const mark_type&) noexcept {}
  static void reset(std::size_t = 0) noexcept {}
  static std::size_t in_use() noexcept { return 0; }
};

// ---- composition ---------------------------------------------------------------------------------------------------------

template <class Complaint>
using refused_arena = std::type_identity<rejected_arena<rejected<Complaint>>>;

/// What the rules of pools examine that hold for arenas, too: stores and growth.
template <class Growth, class Store, class Exhaustion>
constexpr composition composition_of_arena() noexcept {
  composition c{.size = {},
                .locking = {},
                .growth = Growth::traits,
                .store = Store::traits,
                .reuse = {},
                .retention = {},
                .exhaustion = Exhaustion::traits,
                .checking = {}};
  if constexpr (foreseeable<Growth, 1>) c.first_chunk = Growth{}.next_chunk(0, 0, 1).wanted;
  return c;
}

template <class Traits>
constexpr auto choose_arena_with() noexcept {
  if constexpr (!store_members<typename Traits::store, Traits>)
    return refused_arena<store_complaint<typename Traits::store, Traits>>{};
  else if constexpr (!second_store_holds<typename Traits::exhaustion, Traits>)
    return refused_arena<typename second_store_complaint<typename Traits::exhaustion, Traits>::type>{};
  else return std::type_identity<arena_body<Traits>>{};
}

/// The body of an arena, or what is left of a refused one.
template <bool IsStatic, class Locking, class Growth, class Store, class Exhaustion, class Checking, class Statistics,
          class Name>
constexpr auto choose_arena() noexcept {
  if constexpr (!shapes_hold<static_size<1>, Locking, Growth, Store, lifo_reuse<>, keep_chunks, Exhaustion, Checking,
                             Statistics, Name>) {
    return std::type_identity<rejected_arena<rejected_shape<static_size<1>, Locking, Growth, Store, lifo_reuse<>, keep_chunks,
                                                            Exhaustion, Checking, Statistics, Name>>>{};
  } else if constexpr (constexpr arena_verdict verdict = judge_axes<Locking, Growth, Exhaustion, Checking, Statistics>();
                       verdict != arena_verdict::good) {
    return refused_arena<arena_complaint<verdict>>{};
  } else if constexpr (constexpr rule broken = detail::first_broken(composition_of_arena<Growth, Store, Exhaustion>());
                       broken != rule::none) {
    return refused_arena<rule_complaint<broken>>{};
  } else {
    using name = std::conditional_t<Name::traits.is_listed, listed, unnamed>;
    return detail::choose_arena_with<arena_traits<IsStatic, Locking, Growth, Store, Exhaustion, Checking, Statistics, name>>();
  }
}
template <bool IsStatic, class... SevenPolicies>
using arena_body_of = typename decltype(detail::choose_arena<IsStatic, SevenPolicies...>())::type;

/// The seven policies of an arena, in the order of the axes.
template <class... Ps>
struct selected_for_arena {
  using store = choose<axis::store, heap_store, Ps...>;
  using default_growth = typename decltype(detail::default_growth<store>())::type;
  using growth = typename canonical<choose<axis::growth, default_growth, Ps...>>::type;
  using type = basic_arena<choose<axis::locking, no_locking, Ps...>, growth, store,
                           choose<axis::exhaustion, report_exhaustion, Ps...>, choose<axis::checking, no_checking, Ps...>,
                           choose<axis::statistics, no_statistics, Ps...>, choose<axis::name, unnamed, Ps...>>;
};

template <class... Ps>
constexpr auto compose_arena() noexcept {
  if constexpr (!(defined<Ps> && ...)) {
    return std::type_identity<rejected_arena<rejected<home<Ps>...>>>{};
  } else if constexpr (constexpr arena_verdict verdict = judge_arena<Ps...>(); verdict != arena_verdict::good) {
    return refused_arena<arena_complaint<verdict>>{};
  } else if constexpr (constexpr selection chosen = judge_selection<static_size<1>, Ps...>(); chosen != selection::good) {
    return refused_arena<selection_complaint<chosen>>{};
  } else {
    return std::type_identity<typename selected_for_arena<Ps...>::type>{};
  }
}

// ---- static arenas -------------------------------------------------------------------------------------------------------

/// The bytes of a static arena, in an array outside the arena's object.
template <class Tag, class Arena, class Array>
struct static_arena_array {
  static inline constinit Array its{};
};

/// The policies' default values.
template <class Tag = void, class Arena = void>
struct values_of_static_arena {
  static constexpr bool nothrow = true;

  template <class Array>
  static constexpr Array* array_of() noexcept
    requires(!std::is_void_v<Arena>)
  {
    return detail::pointer_to(static_arena_array<Tag, Arena, Array>::its);
  }
  template <class P>
  constexpr P get() const noexcept {
    return P{};
  }
};

template <class Body, class Values>
concept constant_arena = requires { typename std::bool_constant<(static_cast<void>(Body(Values{})), true)>; };

template <class... SevenPolicies>
constexpr arena_verdict judge_static_arena() noexcept {
  using body = arena_body_of<true, SevenPolicies...>;
  if constexpr (!(std::default_initializable<SevenPolicies> && ...)) return arena_verdict::needs_value;
  else if constexpr (!std::is_trivially_destructible_v<body> || !constant_arena<body, values_of_static_arena<>>)
    return arena_verdict::not_constant;
  else return arena_verdict::good;
}

/// A static arena's body, of the same policies as the arena that is an object has, and what it is made from.
template <class Tag, class Arena>
struct static_arena_body : std::type_identity<Arena> {  // refused
  static constexpr values_of_static_arena<> values() noexcept { return {}; }
};
template <class Tag, class Locking, class Growth, class Store, class Exhaustion, class Checking, class Statistics, class Name>
struct static_arena_body<Tag, basic_arena<Locking, Growth, Store, Exhaustion, Checking, Statistics, Name>> {
  using arena = basic_arena<Locking, Growth, Store, Exhaustion, Checking, Statistics, Name>;

  static constexpr auto choose() noexcept {
    using body = arena_body_of<true, Locking, Growth, Store, Exhaustion, Checking, Statistics, Name>;
    constexpr bool is_refused = std::is_base_of_v<rejected<>, body>;
    if constexpr (is_refused) return std::type_identity<body>{};
    else if constexpr (constexpr arena_verdict verdict =
                           judge_static_arena<Locking, Growth, Store, Exhaustion, Checking, Statistics, Name>();
                       verdict != arena_verdict::good)
      return refused_arena<arena_complaint<verdict>>{};
    else return std::type_identity<body>{};
  }
  using type = typename decltype(choose())::type;
  static constexpr auto values() noexcept {
    if constexpr (std::is_base_of_v<rejected<>, type>) return values_of_static_arena<>();
    else return detail::with_listing<Name>(values_of_static_arena<Tag, arena>());
  }
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_ARENA_ARENA_RULES_H_

// Which policies can be combined. Every rule has a number, an `if` over what the policies declare about themselves, and a
// complaint. That is the sentence for the user: what was combined, why it can't work, what to write instead. docs/rules.md
// lists the rules; test/compile_fail/ shows each one firing.
//
// choose_body() in pool.h asks, in this order: shapes_hold, each policy by itself; first_broken() of the composition;
// columns_hold and members_hold, what this pool uses of each.
#ifndef TARN_ALLOCATOR_DETAIL_COMPOSE_RULES_H_
#define TARN_ALLOCATOR_DETAIL_COMPOSE_RULES_H_

#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/compose/select.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/platform/config.h"
#include "tarn/policies/platform/system.h"

namespace tarn::detail {

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

#endif  // TARN_ALLOCATOR_DETAIL_COMPOSE_RULES_H_

// Which policies can live together. Every rule has a number, a verdict (a value, which stays silent) and a complaint (the
// sentence that the user reads): what was combined, why it can't work, what to write instead. docs/rules.md lists them,
// test/compile_fail/ shows each one firing.
#ifndef TARN_ALLOCATOR_DETAIL_COMPOSE_RULES_H_
#define TARN_ALLOCATOR_DETAIL_COMPOSE_RULES_H_

#include <cstddef>
#include <type_traits>

#include "tarn/allocator/detail/compose/select.h"
#include "tarn/policies/detail/geometry.h"

namespace tarn::detail {

// ---- one policy: do its arguments make sense, and has it what the pool uses of its axis? ----------------------------------

template <class P>
struct argument_complaint {};
template <class P>
  requires(!arguments_hold<P>)
struct argument_complaint<P> : P::complaint {};

template <class... Ps>
struct arguments_complaint : argument_complaint<Ps>... {};

template <class Size, class Locking, class Growth, class Store, class Reuse, class Retention, class Exhaustion, class Checking,
          class Statistics>
concept shapes_hold =
    arguments_hold<Size> && arguments_hold<Locking> && arguments_hold<Growth> && arguments_hold<Store> &&
    arguments_hold<Reuse> && arguments_hold<Retention> && arguments_hold<Exhaustion> && arguments_hold<Checking> &&
    arguments_hold<Statistics> && size_policy<Size> && locking_policy<Locking> && growth_policy<Growth> &&
    store_policy<Store> && reuse_policy<Reuse> && retention_policy<Retention> && exhaustion_policy<Exhaustion> &&
    checking_policy<Checking> && statistics_policy<Statistics>;

template <class Size, class Locking, class Growth, class Store, class Reuse, class Retention, class Exhaustion, class Checking,
          class Statistics>
struct member_complaint {
  static_assert(size_policy<Size>, "tarn: [P1] this size policy lacks something that the pool uses; the notes name it, policies/size.h lists all");
  static_assert(locking_policy<Locking>, "tarn: [P2] this locking policy lacks something that the pool uses; the notes name it, policies/locking.h lists all");
  static_assert(growth_policy<Growth>, "tarn: [P3] this growth policy lacks something that the pool uses; the notes name it, policies/growth.h lists all");
  static_assert(store_policy<Store>, "tarn: [P4] this store policy lacks something that the pool uses; the notes name it, policies/store.h lists all");
  static_assert(reuse_policy<Reuse>, "tarn: [P5] this reuse policy lacks something that the pool uses; the notes name it, policies/reuse.h lists all");
  static_assert(retention_policy<Retention>, "tarn: [P6] this retention policy lacks something that the pool uses; the notes name it, policies/retention.h lists all");
  static_assert(exhaustion_policy<Exhaustion>, "tarn: [P7] this exhaustion policy lacks something that the pool uses; the notes name it, policies/exhaustion.h lists all");
  static_assert(checking_policy<Checking>, "tarn: [P8] this checking policy lacks something that the pool uses; the notes name it, policies/checking.h lists all");
  static_assert(statistics_policy<Statistics>, "tarn: [P9] this statistics policy lacks something that the pool uses; the notes name it, policies/statistics.h lists all");
};

/// Arguments first: a policy whose arguments are refused isn't looked into.
template <class... Ps>
using shape_complaint =
    std::conditional_t<(arguments_hold<Ps> && ...), member_complaint<Ps...>, arguments_complaint<Ps...>>;

// ---- relations: the first rule that is broken; a cause stands before its consequences -------------------------------------

/// The first chunk is known at compile time; it need not be, because its size is looked at again when it is made.
template <class Growth, std::size_t Stride>
concept foreseeable = requires { typename std::integral_constant<std::size_t, Growth{}.next_chunk(0, 0, Stride).wanted>; };

/// Threads keep free blocks that others can't get at.
template <class Locking>
concept keeps_blocks = requires { requires Locking::keeps_blocks; };
/// The core's free list isn't used.
template <class Locking>
concept own_free_list = requires { requires Locking::own_free_list; };

/// A thread can wait for a block that another one gives back.
template <class Locking>
concept can_wait = requires { requires Locking::can_wait; };
/// An exhaustion policy waits for that, asks other pools for memory, or has a store of its own.
template <class Exhaustion>
concept waits = requires { requires Exhaustion::hears_frees; };
template <class Exhaustion>
concept asks_others = requires { requires Exhaustion::reclaims; };
template <class Exhaustion>
concept sizes_its_store = requires { requires Exhaustion::store_is_sized_by_geometry; };

/// A checking policy looks at blocks when they leave the front.
template <class Checking>
concept looks_at_leaving = requires { requires Checking::checks_leaving; };

enum class rule { none, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14 };

template <class Size, class Locking, class Growth, class Store, class Reuse, class Retention, class Exhaustion, class Checking>
constexpr rule broken_rule() noexcept {
  if constexpr (!Size::at_run_time) {
    if (Size::bytes() == 0) return rule::r1;
    if (!is_power_of_two(Size::alignment())) return rule::r2;
    if (Size::bytes() > size_limit || Size::alignment() > size_limit) return rule::r7;
    if (Size::bytes() < Reuse::min_block && Reuse::min_block > sizeof(void*)) return rule::r6;
  }
  if constexpr (Store::bounded && Growth::max_chunks != 1) return rule::r3;
  else if constexpr (Size::at_run_time && (Store::sized_by_geometry || sizes_its_store<Exhaustion>)) return rule::r4;
  else if constexpr (Growth::needs_bounded_store && !Store::bounded) return rule::r5;
  else if constexpr (Store::bounded && keeps_blocks<Locking>) return rule::r10;
  else if constexpr (own_free_list<Locking> && !Retention::returns_chunks) {
    if constexpr (!std::is_same_v<Reuse, typename Locking::implies>) return rule::r11;
  }
  if constexpr (Retention::returns_chunks && !Locking::may_return_chunks) return rule::r9;
  else if constexpr (Retention::returns_chunks && !Reuse::sees_empty_chunks) return rule::r8;
  else if constexpr (looks_at_leaving<Checking> && !Reuse::sees_empty_chunks) return rule::r14;
  else if constexpr (waits<Exhaustion> && !can_wait<Locking>) return rule::r12;
  else if constexpr (asks_others<Exhaustion> && Store::bounded) return rule::r13;
  if constexpr (!Size::at_run_time) {
    constexpr geometry<Size, shape_for<Reuse, Checking>()> g;
    if constexpr (foreseeable<Growth, g.stride()>)
      if (g.extent(Growth{}.next_chunk(0, 0, g.stride()).wanted) > size_limit) return rule::r7;
  }
  return rule::none;
}

template <rule Broken>
struct rule_complaint {
  static_assert(Broken != rule::r1,
                "tarn: [R1] a block of zero bytes can't be told from the next one; give static_size at least 1");
  static_assert(Broken != rule::r2,
                "tarn: [R2] an alignment that is no power of two can't be met by any address; give an alignment of 1, 2, 4, 8 ...");
  static_assert(Broken != rule::r3,
                "tarn: [R3] a growth policy of several chunks was combined with a store that has only one (static_array_store, "
                "buffer_store); drop the growth policy, or use heap_store or page_store");
  static_assert(Broken != rule::r4,
                "tarn: [R4] dynamic_size was combined with static_array_store, whose array is sized at compile time; use "
                "static_size, or buffer_store with bytes of your own");
  static_assert(Broken != rule::r5,
                "tarn: [R5] no_growth<> without a number was combined with a store that has no end, so its one chunk has no "
                "size; use no_growth<Blocks>");
  static_assert(Broken != rule::r6,
                "tarn: [R6] batch_reuse was combined with blocks under 16 bytes, but a free block has to hold two pointers of a "
                "batch; use lifo_reuse<>, or blocks of at least 16 bytes");
  static_assert(Broken != rule::r7,
                "tarn: [R7] the block, or the first chunk of them, is larger than an address space; lower the size or the number "
                "of blocks");
  static_assert(Broken != rule::r8,
                "tarn: [R8] a retention policy that returns empty chunks was combined with a reuse policy that can't see them; "
                "drop the reuse policy, or use keep_chunks and call trim()");
  static_assert(Broken != rule::r9,
                "tarn: [R9] a retention policy that returns chunks was combined with a locking policy whose readers may still look "
                "into one that was returned; use keep_chunks, or mutex_locking");
  static_assert(Broken != rule::r10,
                "tarn: [R10] thread_cached was combined with a store that has only one chunk (static_array_store, buffer_store), "
                "all of whose blocks other threads may keep while one finds none; use mutex_locking or lock_free");
  static_assert(Broken != rule::r11,
                "tarn: [R11] lock_free was combined with a reuse policy, which would have nothing to do, since the stack holds "
                "the free blocks; drop the reuse policy, or use thread_cached or mutex_locking");
  static_assert(Broken != rule::r12,
                "tarn: [R12] wait_for_block was combined with a locking policy under which no other thread can give a block back to "
                "who waits (no_locking, grouped_locking without a mutex, thread_cached, lock_free); use mutex_locking");
  static_assert(Broken != rule::r13,
                "tarn: [R13] reclaim_and_retry was combined with a store that has only one chunk (static_array_store, buffer_store), to "
                "which no other pool's memory can go; use retry_with, or fall_back_to<heap_store>");
  static_assert(Broken != rule::r14,
                "tarn: [R14] deferred_checking was combined with a reuse policy that has no bitmap to look a block up in when it leaves "
                "the front; drop the reuse policy, or use hardened");
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_COMPOSE_RULES_H_

// The kinds of policies that are tested with each other. A new policy: a line in the list of its axis, and
// test/support/write_cover.py, which writes the compositions that hold every legal pair (cover.inc).
#ifndef TARN_TEST_SUPPORT_KINDS_H_
#define TARN_TEST_SUPPORT_KINDS_H_

#include <cstddef>
#include <tuple>

#include "tarn/allocator/pool.h"
#include "tarn/policies/checking/switchable_checking.h"
#include "tarn/policies/store/resource_store.h"
#include "tarn/test/support/kind_parts.h"

namespace tarn::test {

/// A policy, as it is spelled in a pool.
template <class P>
struct kind {
  using policy = typename detail::canonical<P>::type;
  const char* name;
};

/// A policy as a value: pairs are counted when a program runs, since a template for each pair and pool took a minute.
using policy_id = const char*;
template <class P>
inline constexpr char id_object = 0;
template <class P>
inline constexpr policy_id id_of = &id_object<P>;

#define KIND(...) \
  kind<__VA_ARGS__> { #__VA_ARGS__ }

inline constexpr std::tuple kinds{
    KIND(static_size<64>),
    KIND(static_size<8>),
    KIND(size_of<trio>),
    KIND(static_size<256, 64>),
    KIND(dynamic_size),

    KIND(no_locking),
    KIND(mutex_locking<>),
    KIND(thread_cached<>),
    KIND(lock_free),
    KIND(grouped_locking<crew>),
    KIND(grouped_locking<crew, standard_mutex>),
    KIND(interrupt_locking<kinds_mask>),

    KIND(fixed_growth<100>),
    KIND(geometric_growth<>),
    KIND(geometric_growth<8, 64, 3, 20000>),
    KIND(grow_ahead<200, fixed_growth<100>>),
    KIND(no_growth<5000>),

    KIND(static_array_store<3000>),
    KIND(heap_store),
    KIND(page_store<>),
    KIND(page_store<huge_pages>),
    KIND(buffer_store),
    KIND(resource_store),
    KIND(budgeted<heap_store, &kinds_budget>),

    KIND(lifo_reuse<>),
    KIND(lifo_reuse<prefetch::on_allocate>),
    KIND(batch_reuse<>),
    KIND(batch_reuse<prefetch::none, 128>),
    KIND(batch_reuse<prefetch::on_free, 256>),
    KIND(page_local_reuse<>),
    KIND(page_local_reuse<4096, prefetch::on_free, 128>),

    KIND(keep_chunks),
    KIND(return_empty_chunks<>),
    KIND(return_empty_chunks<0, 0>),
    KIND(return_empty_pages<25, 0>),

    KIND(report_exhaustion),
    KIND(retry_with<gives_up>),
    KIND(wait_for_block<1>),
    KIND(fall_back_to<heap_store, fixed_growth<50, 500>>),
    KIND(fall_back_to<static_array_store<500>>),
    KIND(reclaim_and_retry<>),

    KIND(no_checking),
    KIND(hardened),
    KIND(hardened_with<guard_bytes>),
    KIND(hardened_with<shuffled>),
    KIND(hardened_with<generations>),
    KIND(checked),
    KIND(checked_with<shuffled>),
    KIND(deferred_checking),
    KIND(sampled_guard_pages<1>),
    KIND(switchable_checking),
    KIND(switchable_checking_with<guard_bytes>),

    KIND(no_statistics),
    KIND(counting_statistics),
    KIND(tracing_statistics<counting_sink>),

    KIND(unnamed),
    KIND(named<"tested">),
};
#undef KIND

/// Compositions that are tested as well, for something that no kind has.
template <class Pool>
struct composition_by_hand {
  const char* policies;
};
#define COMPOSITION(...) \
  composition_by_hand<pool<__VA_ARGS__>> { #__VA_ARGS__ }

inline constexpr std::tuple also_tested{
    // A closed page on each side of a chunk.
    COMPOSITION(static_size<8>, grouped_locking<crew, standard_mutex>, fixed_growth<100>, page_store<guard_pages>,
                wait_for_block<1>),
    COMPOSITION(static_size<256, 64>, thread_cached<>, page_store<huge_pages, guard_pages>, return_empty_chunks<>,
                retry_with<gives_up>, checked_with<shuffled>),
    // A second store that grows without end; some blocks on pages of their own, and the others checked.
    COMPOSITION(static_size<256, 64>, mutex_locking<>, fixed_growth<100>, page_store<>, return_empty_chunks<0, 0>,
                fall_back_to<heap_store>, sampled_guard_pages<1, hardened>),
    // Blocks that are an array in the pool, and nothing else.
    COMPOSITION(static_size<64>, static_array_store<3000>),
    COMPOSITION(static_size<8>, mutex_locking<>, static_array_store<3000>, lifo_reuse<prefetch::on_allocate>,
                retry_with<gives_up>),
    // An interrupt may come before and after each call.
    COMPOSITION(static_size<64>, interrupt_locking<kinds_mask>, static_array_store<3000>),
    COMPOSITION(size_of<trio>, interrupt_locking<kinds_mask>, geometric_growth<>, page_local_reuse<>, return_empty_chunks<0, 0>,
                reclaim_and_retry<>, hardened, counting_statistics),
};
#undef COMPOSITION

}  // namespace tarn::test

#endif  // TARN_TEST_SUPPORT_KINDS_H_

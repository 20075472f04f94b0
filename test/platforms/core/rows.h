// The compositions of the main suite (test/support/cover.inc) as they can be on this target: what it lacks is replaced by what
// does the same for a pool there. Rows that then break a rule don't exist. Numbers of blocks are smaller than there, so that
// every pool is exhausted at once, and fits into little memory.
#ifndef TARN_TEST_PLATFORMS_CORE_ROWS_H_
#define TARN_TEST_PLATFORMS_CORE_ROWS_H_

#include <cstddef>
#include <type_traits>

#include "tarn/allocator/pool.h"
#include "tarn/test/platforms/core/check.h"
#include "tarn/test/platforms/core/services.h"
#include "tarn/test/support/kind_parts.h"

#if TARN_TEST_LIBRARY
#include "tarn/policies/store/resource_store.h"
#else
namespace tarn {
class resource_store;  // a memory_resource has functions in the library
}
#endif

namespace tarn::test {

/// A user's mutex, for targets without threads; it checks that each lock() has its unlock().
struct own_mutex {
  void lock() noexcept {
    CHECK(!held);
    held = true;
  }
  void unlock() noexcept {
    CHECK(held);
    held = false;
  }
  bool held = false;
};

/// A policy as it is on this target.
template <class P>
struct here {
  using type = P;
};
template <class P>
using here_t = typename here<P>::type;
template <bool There, class P, class Else>
using if_there = typename std::conditional_t<There, std::type_identity<P>, here<Else>>::type;

inline constexpr bool threads = TARN_TEST_THREADS != 0, pages = TARN_TEST_PAGES != 0, cas = TARN_TEST_CAS != 0;

// clang-format off
template <std::size_t... N> struct here<thread_cached<N...>> {
  using type = if_there<threads, thread_cached<N...>, no_locking>;
};
template <class Group> struct here<grouped_locking<Group, standard_mutex>> {
  static constexpr bool there = TARN_TEST_STD_THREADS != 0 || !threads;
  using type = if_there<there, grouped_locking<Group, standard_mutex>, grouped_locking<Group, mutex>>;
};
template <> struct here<mutex_locking<mutex>> {
  using type = if_there<threads, mutex_locking<mutex>, mutex_locking<own_mutex>>;
};
template <> struct here<lock_free> { using type = if_there<cas, lock_free, no_locking>; };
template <class... Options> struct here<page_store<Options...>> {
  using type = if_there<pages, page_store<Options...>, heap_store>;
};
template <> struct here<resource_store> {
  using type = std::conditional_t<TARN_TEST_LIBRARY != 0, resource_store, heap_store>;
};
template <std::size_t P, std::size_t B, page_advice A> struct here<return_empty_pages<P, B, A>> {
  using type = if_there<pages, return_empty_pages<P, B, A>, return_empty_chunks<>>;
};
template <std::size_t Ms> struct here<wait_for_block<Ms>> {
  using type = if_there<threads, wait_for_block<Ms>, retry_with<gives_up>>;
};
template <std::uint32_t N, class Then, std::uint32_t Slots> struct here<sampled_guard_pages<N, Then, Slots>> {
  using type = if_there<pages, sampled_guard_pages<N, Then, Slots>, hardened>;
};

template <> struct here<static_array_store<3000>> { using type = static_array_store<300>; };
template <> struct here<static_array_store<500>> { using type = static_array_store<50>; };
template <> struct here<no_growth<5000>> { using type = no_growth<400>; };
template <> struct here<geometric_growth<8, 64, 3, 20000>> { using type = geometric_growth<8, 64, 3, 600>; };
template <> struct here<fixed_growth<50, 500>> { using type = fixed_growth<50, 100>; };
template <auto Blocks, class Growth> struct here<grow_ahead<Blocks, Growth>> {
  using type = grow_ahead<Blocks, here_t<Growth>>;
};
template <class Store, class Growth> struct here<fall_back_to<Store, Growth>> {
  using type = fall_back_to<here_t<Store>, here_t<Growth>>;
};
// clang-format on

template <class Pool>
inline constexpr bool legal = false;
template <class Size, class Locking, class Growth, class Store, class Reuse, class Retention, class Exhaustion, class Checking,
          class Statistics, class Name>
inline constexpr bool
    legal<basic_pool<Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Statistics, Name>> =
    detail::first_broken(
        detail::composition_of<Size, Locking, Growth, Store, Reuse, Retention, Exhaustion, Checking, Name>()) ==
    detail::rule::none;

/// The pool of these policies on this target, which isn't instantiated here.
template <class... Ps>
using pool_here = typename detail::selected<basic_pool, here_t<Ps>...>::type;

}  // namespace tarn::test

#endif  // TARN_TEST_PLATFORMS_CORE_ROWS_H_
